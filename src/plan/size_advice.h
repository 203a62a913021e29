// SPDX-License-Identifier: Apache-2.0
// Gives advice if a model does not fit the size of its input.
#pragma once

#include <string>

#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Returns the largest factor by which the graph's images are smaller than its input. An input
/// whose sides are multiples of it is halved without remainder, so that branches of several sizes
/// fit.
int largest_stride(const Graph& graph);

/// Returns ": try a multiple of 32, such as --size 320x256" if the size is no multiple; else
/// nothing.
std::string size_advice(const Graph& graph, int width, int height);

}  // namespace dvnn::plan
