// SPDX-License-Identifier: Apache-2.0
// A graph as a network file keeps it, so that it can be planned again for another size of input.
// Its convolutions' weights are those of the network's packed streams.
#pragma once

#include "base/json_fwd.h"
#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/plan.h"

namespace dvnn::plan {

/// Transposes kernels of `height` rows and `width` columns, one after the other: the device reads
/// them so if its buffers are row-major.
void transpose_kernels(int height, int width, std::vector<float>* weights);

/// Returns how many channels each of that many parts of a convolution's channels has, but for the
/// last, which has the rest: whole chunks of 8.
int channels_of_part(int channels, int parts);

/// Numbers the nodes (Node::saved) and writes them; null if a node is of a kind that cannot be
/// saved.
Json save_graph(Graph* graph);

/// Reads a graph that may come from a hostile file: every index, name and number is checked. Shapes
/// and weights are not there yet.
Result<Graph> load_graph(const Json& saved, const Cancellation* cancellation = nullptr);

/// Fills in the weights of `model`'s streams, from the places that it keeps, after shapes are
/// known. Errors name the layer.
Status load_weights(const network::Model& model, const PlanOptions& options, Graph* graph);

}  // namespace dvnn::plan
