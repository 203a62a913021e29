// SPDX-License-Identifier: Apache-2.0
// Plans a network again for another size of input, by the graph that it holds.
#pragma once

#include <string>

#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/options.h"

namespace dvnn::plan {

struct PixelSize {
  int width = 0, height = 0;
};
/// "320x240".
Result<PixelSize> parse_size(const std::string& text);

/// The same network for an input of `width` x `height` pixels, planned anew with the weights that
/// it has. kUnsupported: a network that was not converted from a model here, or that has layers for
/// one size only; errors name the layer. kCancelled soon after `cancellation` is.
Result<network::Model> replan(const network::Model& model, int width, int height,
                              const Cancellation* cancellation = nullptr);

/// The rest of plan(), from the passes that depend on sizes on. The model keeps `saved`, which is
/// the graph as it is, with the places that weights get.
Result<network::Model> plan_sized(Graph graph, const PlanOptions& options, InputSpec picture,
                                  network::SavedGraph saved, PlanReport* report);

/// Tells where each step of a network runs, and why, by planning the network again as it is; errors
/// are those of replan().
Result<std::vector<StepNote>> explain(const network::Model& model);

}  // namespace dvnn::plan
