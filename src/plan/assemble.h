// SPDX-License-Identifier: Apache-2.0
// The rewritten graph -> a model: layouts, steps, packed weights, memory.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "network/model.h"
#include "plan/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

/// Makes a model from the rewritten graph. `saved` is the part of the graph that the model keeps;
/// it receives the places of the weights. Errors name the layer, the value and the device's limit.
/// `report` may be null.
Result<network::Model> assemble(const Graph& graph, const PlanOptions& options,
                                const InputSpec& picture, Json* saved, PlanReport* report);

}  // namespace dvnn::plan
