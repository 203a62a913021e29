// SPDX-License-Identifier: Apache-2.0
#include "plan/layout/schedule.h"
#include "base/nth.h"

#include <functional>
#include <queue>

namespace dvnn::plan {

std::vector<size_t> schedule(const Graph& graph, const Placer& placer) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> missing(count, 0);  // by node: number of inputs that are not computed yet
  std::vector<std::vector<size_t>> readers(graph.values.size());
  std::vector<bool> made(graph.values.size(), true);
  for (const Node& node : graph.nodes) nth(made, node.output) = false;
  for (size_t i = 0; i < count; ++i) {
    for (int value : graph.nodes[i].inputs) {
      if (nth(made, value)) continue;
      nth(readers, value).push_back(i);
      ++missing[i];
    }
  }
  // Nodes whose inputs are computed, the first in the graph's order on top. Nodes that take no time
  // run in either turn.
  using Ready = std::priority_queue<size_t, std::vector<size_t>, std::greater<>>;
  Ready device, cpu;
  auto add = [&](size_t i, Destination turn) {
    const Destination kind =
        placer.destination(i) == Destination::kInPlace ? turn : placer.destination(i);
    (kind == Destination::kDevice ? device : cpu).push(i);
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) add(i, Destination::kDevice);
  }
  // A node comes after the makers of its inputs, so one turn runs all that it can.
  for (Destination turn = Destination::kDevice; order.size() < count;
       turn = turn == Destination::kDevice ? Destination::kCpu : Destination::kDevice) {
    Ready& ready = turn == Destination::kDevice ? device : cpu;
    if (device.empty() && cpu.empty()) break;  // a cycle, which no front end makes
    while (!ready.empty()) {
      const size_t i = ready.top();
      ready.pop();
      order.push_back(i);
      for (size_t reader : nth(readers, graph.nodes[i].output)) {
        if (--missing[reader] == 0) add(reader, turn);
      }
    }
  }
  return order;
}

}  // namespace dvnn::plan
