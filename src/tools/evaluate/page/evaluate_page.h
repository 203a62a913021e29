// SPDX-License-Identifier: Apache-2.0
// One page of HTML about what was measured, with the pictures that went worst: it needs nothing but
// a browser.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// `report` is what measured_json() makes of the same; pictures are read again.
Result<std::string> evaluate_page(const evaluate::DataSet& data,
                                  const std::vector<Subject>& subjects,
                                  const std::vector<Measured>& measured, OrderedJson report);

}  // namespace dvnn::tools
