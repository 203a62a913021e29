// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.h"

#include <algorithm>

namespace dvnn::plan {

std::vector<size_t> schedule(const Graph& graph, const Placer& placer) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> order;
  std::vector<bool> done(count, false), made(graph.values.size(), false);
  for (size_t v = 0; v < made.size(); ++v) made[v] = graph.producer(static_cast<int>(v)) < 0;
  auto ready = [&](size_t i) {
    const auto& inputs = graph.nodes[i].inputs;
    return !done[i] && std::all_of(inputs.begin(), inputs.end(),
                                   [&](int v) { return made[static_cast<size_t>(v)]; });
  };
  // A node comes after those that make its inputs, so one sweep runs all that a turn can. Nodes
  // that take no time of their own belong to both.
  for (Lowered turn = Lowered::kDevice; order.size() < count;
       turn = turn == Lowered::kDevice ? Lowered::kCpu : Lowered::kDevice) {
    for (size_t i = 0; i < count; ++i) {
      const Lowered kind = placer.lowered(i);
      if ((kind != turn && kind != Lowered::kNothing) || !ready(i)) continue;
      order.push_back(i);
      done[i] = true;
      made[static_cast<size_t>(graph.nodes[i].output)] = true;
    }
  }
  return order;
}

}  // namespace dvnn::plan
