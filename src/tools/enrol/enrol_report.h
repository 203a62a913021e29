// SPDX-License-Identifier: Apache-2.0
// What dvnet enrol tells of a gallery, as JSON and as text.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluate/naming.h"

namespace dvnn::tools {

struct EnrolFacts {
  std::string gallery;  // the file that was written; may be empty
  size_t people = 0, pictures = 0, length = 0;
  size_t left_out = 0;      // pictures in which nothing was found
  size_t alone = 0;         // people with one picture only
  double most_accepts = 0;  // what was asked for
  std::vector<evaluate::NamingTrial> trials;
  evaluate::NamingProposal proposal;
};

OrderedJson enrol_json(const EnrolFacts& facts);
void print_enrol(const EnrolFacts& facts);

}  // namespace dvnn::tools
