// SPDX-License-Identifier: Apache-2.0
// Reports measured figures: for people, as JSON, and as a page of HTML with the pictures with most
// mistakes, which needs only a browser.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Prints for a terminal: a line for each network, then its classes, thresholds and confusions.
void print_measured(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                    const MeasureOptions& options);

/// Returns the figures with all digits. A figure without data is null.
OrderedJson measured_json(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                          const MeasureOptions& options);

/// Returns the page. `report`: measured_json() of the same arguments; pictures are read again.
Result<std::string> evaluate_page(const evaluate::DataSet& data,
                                  const std::vector<Subject>& subjects,
                                  const std::vector<Measured>& measured, OrderedJson report);

}  // namespace dvnn::tools
