// SPDX-License-Identifier: Apache-2.0
// Plans a network again for another size of input, from the graph in it, and advises on sizes if a
// model does not fit the size of its input.
#pragma once

#include <string>
#include <vector>

#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/plan.h"

namespace dvnn::plan {

struct PixelSize {
  int width = 0, height = 0;
};
/// Parses a size such as "320x240".
Result<PixelSize> parse_size(const std::string& text);

/// Returns the network for an input of `width` x `height` pixels, planned again with its weights.
/// Errors name the layer: kUnsupported if the network was not made by this converter, or has layers
/// for one size only; kCancelled soon after `cancellation` is.
Result<network::Model> replan(const network::Model& model, int width, int height,
                              const Cancellation* cancellation = nullptr);

/// A layer with weights, as the network's graph has it.
struct WeighedLayer {
  size_t node = 0;  // its index in the saved graph
  std::string name;
};

/// Returns the layers whose weights have 16 bits. Error: kUnsupported if the network does not hold
/// its graph.
Result<std::vector<WeighedLayer>> layers_of_halves(const network::Model& model);

/// Returns the network planned again for its own size, with weights of 8 bits in the layers with
/// these nodes; the others keep theirs. A layer that a device cannot have in 8 bits keeps 16, too.
/// Errors are those of replan().
Result<network::Model> with_bytes(const network::Model& model, const std::vector<size_t>& nodes);

/// Runs the second half of plan(): the passes that depend on sizes, and assembly. The model keeps
/// `saved`, the graph as it is, with the places of the weights.
Result<network::Model> plan_sized(Graph graph, const PlanOptions& options, InputSpec picture,
                                  network::SavedGraph saved, PlanReport* report);

/// Returns the graph that a network was planned from, with its weights as the network has them:
/// rounded to 16 bits, or to 8. Error: kUnsupported if the network does not hold it.
Result<Graph> restored_graph(const network::Model& model);

/// Returns where each step of a network runs, and why, by planning the network again as it is.
/// Errors are those of replan().
Result<std::vector<StepNote>> explain(const network::Model& model);

/// Returns the largest factor by which the graph's images are smaller than its input. An input
/// whose sides are multiples of it is halved without remainder, so that branches of several sizes
/// fit.
int largest_stride(const Graph& graph);

/// Returns ": try a multiple of 32, such as --size 320x256" if the size is no multiple; else
/// nothing.
std::string size_advice(const Graph& graph, int width, int height);

}  // namespace dvnn::plan
