// SPDX-License-Identifier: Apache-2.0
// Converts the rewritten graph to a model: layouts, steps, packed weights, memory.
#pragma once

#include "base/result.h"
#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

/// Makes a model from the rewritten graph. It has the places of the weights of saved nodes, but not
/// the saved graph. Errors name the layer, the value and the device's limit. `report` may be null.
Result<network::Model> assemble(const Graph& graph, const PlanOptions& options,
                                const InputSpec& picture, PlanReport* report);

}  // namespace dvnn::plan
