// SPDX-License-Identifier: Apache-2.0
// The findings of `dvnet doctor`: one line each, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace dvnn::tools {

enum class Level {
  kOk,
  kWarning,  // something is not as it should be; pipelines run
  kFailure,  // pipelines do not run
};

struct Finding {
  Level level = Level::kOk;
  std::string topic;   // "plugin", "device": what the line is about
  std::string says;    // one sentence
  std::string remedy;  // what to do; empty where nothing is to be done
};

using Findings = std::vector<Finding>;

const char* to_string(Level level);
OrderedJson findings_to_json(const Findings& findings);
/// The inverse, for the output of a probe; entries that are no findings are left out.
Findings findings_from_json(const std::string& text);
/// Returns whether no finding is a failure.
bool can_run(const Findings& findings);

/// The remedy for a library that the loader refuses, according to the loader's words.
std::string remedy_for_library(const std::string& why);

}  // namespace dvnn::tools
