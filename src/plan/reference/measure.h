// SPDX-License-Identifier: Apache-2.0
// What is measured of a graph by the FP32 reference while it is planned: with which inputs, the
// ranges of values, and which layers keep weights of 16 bits where the others get 8.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/graph/graph.h"
#include "plan/plan.h"
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

/// Returns the largest magnitude of each value (0: not computed) over the sample inputs.
/// Empty for a graph that cannot be measured.
Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture);

/// Sets Node::half_weights of those layers that cost the outputs most, in relation to their size,
/// until every output's cosine over the sample inputs is 0.999 or more. A graph that
/// cannot be measured stays as it is.
Result<WeightBits> choose_weight_bits(Graph* graph, const PlanOptions& options,
                                      const InputSpec& picture);

}  // namespace dvnn::plan
