// SPDX-License-Identifier: Apache-2.0
// Checks that a graph computes the same in FP32 after a pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "check_suite.h"
#include "device/limits.h"
#include "graph_maker.h"
#include "plan/reference/reference.h"

namespace dvnn::test {

using plan::Graph;
using plan::Node;
using plan::Op;

inline std::vector<std::vector<float>> computed(const Graph& graph,
                                                const std::vector<float>& input) {
  auto reference = plan::Reference::create(graph);
  ck_assert_msg(reference.ok(), "%s", reference.ok() ? "" : reference.error().message.c_str());
  auto outputs = reference.value()->run(input.data());
  ck_assert_msg(outputs.ok(), "%s", outputs.ok() ? "" : outputs.error().message.c_str());
  return outputs.value();
}

// FP32 sums in another order: 24 significand bits, some hundreds of products, a few layers.
constexpr float kTolerance = 1e-4f;

inline void expect_same(const char* what, const Graph& before, const Graph& after,
                        const std::vector<float>& input) {
  const auto want = computed(before, input), have = computed(after, input);
  ck_assert_uint_eq(want.size(), have.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ck_assert_uint_eq(want[o].size(), have[o].size());
    float largest = 1e-6f, worst = 0;
    for (size_t i = 0; i < want[o].size(); ++i) {
      largest = std::max(largest, std::fabs(want[o][i]));
      worst = std::max(worst, std::fabs(want[o][i] - have[o][i]));
    }
    ck_assert_msg(worst <= kTolerance * largest, "%s: output %zu is off by %g of %g", what, o,
                  worst, largest);
  }
}

using Pass = std::function<void(Graph*)>;

// Applies a pass and checks that the result computes the same as the graph.
inline Graph after(const char* what, const Graph& graph, const Pass& pass) {
  Graph changed = graph;
  pass(&changed);
  const auto count = static_cast<size_t>(graph.shape_of(graph.input).elements());
  expect_same(what, graph, changed, numbers(count, -1, 1));
  return changed;
}

// The limits of the board that passes get.
inline const device::Limits kBoard;

inline Pass with_limits(void (*pass)(Graph*, const device::Limits&)) {
  return [pass](Graph* g) { pass(g, kBoard); };
}

inline Pass with_limits(Status (*pass)(Graph*, const device::Limits&)) {
  return [pass](Graph* g) { ck_assert(pass(g, kBoard).ok()); };
}

inline int count(const Graph& graph, Op op) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [op](const Node& n) { return n.op == op && !n.dead; }));
}

}  // namespace dvnn::test
