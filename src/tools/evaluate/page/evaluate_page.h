// SPDX-License-Identifier: Apache-2.0
// One page of HTML with the figures, and the pictures with most mistakes: it needs only a browser.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Returns the page. `report`: measured_json() of the same arguments; pictures are read again.
Result<std::string> evaluate_page(const evaluate::DataSet& data,
                                  const std::vector<Subject>& subjects,
                                  const std::vector<Measured>& measured, OrderedJson report);

}  // namespace dvnn::tools
