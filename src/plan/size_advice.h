// SPDX-License-Identifier: Apache-2.0
// Advises what to try where a model does not fit the size of its input.
#pragma once

#include <string>

#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Returns by how much the graph's images are smaller than its input, at most. An input whose sides
/// are multiples of it is halved without a rest, so that branches of several sizes meet again.
int largest_stride(const Graph& graph);

/// ": try a multiple of 32, such as --size 320x256" for a size that is none; else nothing.
std::string size_advice(const Graph& graph, int width, int height);

}  // namespace dvnn::plan
