// SPDX-License-Identifier: Apache-2.0
// Findings of `dvnet doctor`: one line each, with a remedy.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace dvnn::tools {

enum class Level {
  kOk,
  kWarning,  // something is wrong, but pipelines run
  kFailure,  // pipelines do not run
};

struct Finding {
  Level level = Level::kOk;
  std::string topic;   // subject of the line: "plugin", "device"
  std::string says;    // one sentence
  std::string remedy;  // what to do; empty: nothing
};

using Findings = std::vector<Finding>;

const char* to_string(Level level);
OrderedJson findings_to_json(const Findings& findings);
/// Parses a probe's output; entries that are not findings are ignored.
Findings findings_from_json(const std::string& text);
/// Whether no finding is a failure.
bool can_run(const Findings& findings);

/// Returns the remedy for a library that cannot be loaded, according to the loader's message.
std::string remedy_for_library(const std::string& why);

}  // namespace dvnn::tools
