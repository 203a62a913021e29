// SPDX-License-Identifier: Apache-2.0
// Measures the range of a graph's values with the FP32 reference.
#pragma once

#include <vector>

#include "plan/graph/graph.h"
#include "plan/options.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// Returns the largest magnitude of each value (0: not computed) over the sample inputs
/// (samples.h). Empty for a graph that cannot be measured.
Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture);

}  // namespace dvnn::plan
