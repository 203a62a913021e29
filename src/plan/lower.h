// SPDX-License-Identifier: Apache-2.0
// The rewritten graph -> a model: layouts, steps, packed weights, memory.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "network/model.h"
#include "plan/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

/// `saved` is what the model will keep of the graph: it is told where weights are. Errors name the
/// layer, the value and the device's limit. `report` may be null.
Result<network::Model> lower(const Graph& graph, const PlanOptions& options,
                             const InputSpec& picture, nlohmann::json* saved, PlanReport* report);

}  // namespace dvnn::plan
