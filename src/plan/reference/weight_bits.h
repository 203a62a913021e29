// SPDX-License-Identifier: Apache-2.0
// Chooses the layers that keep weights of 16 bits where the others get 8.
#pragma once

#include "plan/graph/graph.h"
#include "plan/options.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// Sets Node::half_weights of those layers that cost the outputs most, in relation to their size,
/// until every output's cosine over the sample inputs (samples.h) is 0.999 or more. A graph that
/// cannot be measured stays as it is.
Result<WeightBits> choose_weight_bits(Graph* graph, const PlanOptions& options,
                                      const InputSpec& picture);

}  // namespace dvnn::plan
