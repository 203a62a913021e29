// SPDX-License-Identifier: Apache-2.0
// Prints measured figures: for people, and as JSON.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// Prints for a terminal: a line for each network, then its classes, thresholds and confusions.
void print_measured(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                    const MeasureOptions& options);

/// Returns the figures with all digits. A figure without data is null.
OrderedJson measured_json(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                          const MeasureOptions& options);

}  // namespace dvnn::tools
