// SPDX-License-Identifier: Apache-2.0
// Builds graphs with short calls; their numbers do not matter.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "import/builder.h"

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

}  // namespace dvnn::test
