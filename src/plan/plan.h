// SPDX-License-Identifier: Apache-2.0
// Plans a graph as a network.
#pragma once

#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

/// Runs all passes and assembles the model, which keeps what replan() needs. `picture`: how
/// pictures become the graph's input; `report` may be null.
Result<network::Model> plan(Graph graph, const PlanOptions& options, InputSpec picture,
                            PlanReport* report);

}  // namespace dvnn::plan
