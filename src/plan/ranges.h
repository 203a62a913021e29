// SPDX-License-Identifier: Apache-2.0
// How large a graph's values become, measured with the FP32 reference.
#pragma once

#include <vector>

#include "plan/graph.h"
#include "plan/options.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// The largest magnitude of each value (0: not computed). Pictures are `options.samples`, or one of
/// noise, gradients and edges that is the same for everybody; `picture` says how pixels become the
/// input. Empty for a graph that has
/// layers of users' libraries, or whose computation would take too long on the CPU.
Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture);

}  // namespace dvnn::plan
