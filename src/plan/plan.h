// SPDX-License-Identifier: Apache-2.0
// Plans a graph as a network: passes rewrite it, and what they leave becomes a model: layouts,
// steps, packed weights, memory.
#pragma once

#include "base/result.h"
#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

/// Runs all passes and assembles the model, which keeps what replan() needs. `picture`: how
/// pictures become the graph's input; `report` may be null.
Result<network::Model> plan(Graph graph, const PlanOptions& options, InputSpec picture,
                            PlanReport* report);

/// Makes a model from the rewritten graph. It has the places of the weights of saved nodes, but not
/// the saved graph. Errors name the layer, the value and the device's limit. `report` may be null.
Result<network::Model> assemble(const Graph& graph, const PlanOptions& options,
                                const InputSpec& picture, PlanReport* report);

}  // namespace dvnn::plan
