// SPDX-License-Identifier: Apache-2.0
// The inputs that a graph is measured with while it is planned, and the ranges of its values, which
// the FP32 reference measures with them.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/graph/graph.h"
#include "plan/options.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// Returns whether the FP32 reference can run the graph in reasonable time: it has at most 8 GMAC
/// and no layers of users' libraries.
bool can_be_measured(const Graph& graph);

/// Returns the graph's inputs, row-major: `options.samples`, or else one fixed picture of noise,
/// gradients and edges. `picture`: how pixels become the input. Error: kInvalidArgument if a sample
/// does not fit the input.
Result<std::vector<std::vector<float>>> sample_inputs(const Graph& graph,
                                                      const PlanOptions& options,
                                                      const InputSpec& picture);

/// Returns the largest magnitude of each value (0: not computed) over the sample inputs
/// (samples.h). Empty for a graph that cannot be measured.
Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture);

}  // namespace dvnn::plan
