// SPDX-License-Identifier: Apache-2.0
// Builds graphs with short calls, whose numbers do not matter, and checks that a graph computes the
// same in FP32 after a pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "device/limits.h"
#include "import/builder.h"
#include "plan/reference/reference.h"

namespace dvnn::test {

inline std::mt19937 source;

inline std::vector<float> numbers(size_t count, float low = -0.5f, float high = 0.5f) {
  std::uniform_real_distribution<float> value(low, high);
  std::vector<float> list(count);
  for (float& v : list) v = value(source);
  return list;
}

inline int sure(const Result<int>& value) {
  ck_assert_msg(value.ok(), "%s", value.ok() ? "" : value.error().message.c_str());
  return value.value();
}

struct Maker : import::GraphBuilder {
  explicit Maker(int h = 16, int w = 16) { sure(input("data", {1, 3, h, w})); }
  std::string name() const { return "layer" + std::to_string(graph.nodes.size()); }
  /// Adds a convolution, with pads of half the kernel if `pad` is not given.
  int conv(int in, int m, int kernel = 3, int pad = -1, int groups = 1) {
    import::ConvSpec spec;
    spec.outputs = m;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.groups = groups;
    spec.left = spec.right = spec.top = spec.bottom = pad < 0 ? kernel / 2 : pad;
    const auto count = static_cast<size_t>(m * (shape_of(in).c() / groups) * kernel * kernel);
    return sure(convolution(name(), in, spec, numbers(count), numbers(static_cast<size_t>(m))));
  }
  int scaled(int in) {
    const auto c = static_cast<size_t>(shape_of(in)[1]);
    return sure(affine(name(), in, numbers(c, 0.5f, 2), numbers(c)));
  }
  int active(int in, device::Activation kind) {
    const auto c = static_cast<size_t>(shape_of(in)[1]);
    const bool prelu = kind == device::Activation::kPrelu;
    return sure(
        activation(name(), in, kind, 0.1f, prelu ? numbers(c, 0, 1) : std::vector<float>()));
  }
  int pooled(int in, bool average, int kernel, int stride, bool ceil = true) {
    import::PoolSpec spec;
    spec.average = average;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.stride_x = spec.stride_y = stride;
    spec.ceil = ceil;
    return sure(pooling(name(), in, spec));
  }
  int joined(const std::vector<int>& values) { return sure(concat(name(), values, 1)); }
  plan::Graph done(std::vector<int> outputs) {
    graph.outputs = std::move(outputs);
    for (int v : graph.outputs) graph.output_names.push_back("out" + std::to_string(v));
    return graph;
  }
};

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
