// SPDX-License-Identifier: Apache-2.0
// Prints what was measured: for people, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

/// For a terminal: a line for each network, then its classes, thresholds and confusions.
void print_measured(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                    const MeasureOptions& options);

/// The same with all digits. A figure of which there is nothing to measure is null.
OrderedJson measured_json(const evaluate::DataSet& data, const std::vector<Measured>& measured,
                          const MeasureOptions& options);

}  // namespace dvnn::tools
