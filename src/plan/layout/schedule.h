// SPDX-License-Identifier: Apache-2.0
// Orders a network's steps.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/graph/graph.h"
#include "plan/layout/placement.h"

namespace dvnn::plan {

/// Returns the indices of all nodes, inputs before their readers. Consecutive commands go to the
/// device in one list, and between lists device and CPU wait for each other: so all nodes that can
/// run on the device do, before the CPU's turn comes, and the other way round. Among nodes that can
/// run, the graph's order stays.
std::vector<size_t> schedule(const Graph& graph, const Placer& placer);

}  // namespace dvnn::plan
