// SPDX-License-Identifier: Apache-2.0
// Values of layers with windows: convolutions and pooling.
#include <algorithm>
#include <cmath>
#include <limits>

#include "layer_run.h"
#include "tensor/half.h"

namespace dvnn::test::window_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(taps_are_weighted_and_strides_skip) {
  const Tensor in = {plain({1, 1, 1, 4}), {1, 2, 3, 4}};
  expect(run("Convolution", {{"kernel_w", 2}, {"weights", {1, 10}}, {"bias", {0.5}}}, {in},
             {1, 1, 1, 3}),
         {21.5f, 32.5f, 43.5f});
  expect(run("Convolution", {{"kernel_w", 2}, {"stride_w", 2}, {"weights", {1, 10}}, {"bias", {0}}},
             {in}, {1, 1, 1, 2}),
         {21, 43});
}

DVNN_TEST(groups_see_their_own_channels) {
  const Tensor in = {plain({1, 2, 1, 2}), {1, 2, 3, 4}};
  expect(run("Convolution", {{"groups", 2}, {"weights", {2, 3}}, {"bias", {0, 1}}}, {in},
             {1, 2, 1, 2}),
         {2, 4, 10, 13});
}

DVNN_TEST(pooling_clips_windows_as_caffe_does) {
  const Tensor t = {plain({1, 1, 3, 3}), counting(9)};
  const json window = {{"kernel_w", 2}, {"kernel_h", 2}, {"stride_w", 2}, {"stride_h", 2}};
  json max = window, average = window;
  max["method"] = "max";
  average["method"] = "average";
  expect(run("Pooling", max, {t}, {1, 1, 2, 2}), {4, 5, 7, 8});
  expect(run("Pooling", average, {t}, {1, 1, 2, 2}), {2, 3.5f, 6.5f, 8});
}

// A pooling by its definition, sums along rows first: of the elements of plane `p` of row-major
// floats.
static float pooled(const std::vector<float>& in, Shape shape, int p, int y, int x, bool average) {
  const int y0 = 4 * y - 1, x0 = 2 * x - 2;
  const int y1 = std::min(y0 + 5, shape.h() + 1), x1 = std::min(x0 + 10, shape.w() + 2);
  float sum = 0, most = -std::numeric_limits<float>::max();
  for (int i = std::max(y0, 0); i < std::min(y1, shape.h()); ++i) {
    for (int k = std::max(x0, 0); k < std::min(x1, shape.w()); ++k) {
      const float v = in[static_cast<size_t>((p * shape.h() + i) * shape.w() + k)];
      sum += v;
      most = std::max(most, v);
    }
  }
  return average ? sum / static_cast<float>((y1 - y0) * (x1 - x0)) : most;
}

// The device's chunks are pooled as they are, large pictures in bands; the last chunk is narrow.
DVNN_TEST(chunks_are_pooled_where_they_lie) {
  for (const Shape& shape : {Shape{1, 8, 5, 11}, Shape{2, 19, 71, 53}}) {
    const Shape out = {shape.n(), shape.c(), (shape.h() + 2 - 5) / 4 + 1,
                       (shape.w() + 4 - 10) / 2 + 1};
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = half_to_float(float_to_half(static_cast<float>(i * 7919 % 1009) / 64 - 8));
    }
    for (const bool average : {false, true}) {
      const json params = {{"method", average ? "average" : "max"},
                           {"kernel_h", 5},
                           {"stride_h", 4},
                           {"pad_h", 1},
                           {"kernel_w", 10},
                           {"stride_w", 2},
                           {"pad_w", 2}};
      for (const Layout layout : {Layout::kHwc8, Layout::kWhc8}) {
        const TensorDesc from = {ElementType::kFloat16, layout, shape},
                         to = {ElementType::kFloat16, layout, out};
        std::vector<uint8_t> memory(static_cast<size_t>(from.bytes())),
            made(static_cast<size_t>(to.bytes()));
        write_nchw(values.data(), {from, memory.data()});
        auto layer = create_layer("Pooling", params, {&from, 1}, {&to, 1}, nullptr);
        ck_assert(layer.ok());
        const ConstTensorView in = {from, memory.data()};
        const TensorView view = {to, made.data()};
        ck_assert(layer.value()->run({&in, 1}, {&view, 1}).ok());
        std::vector<float> have(static_cast<size_t>(out.elements()));
        read_nchw({to, made.data()}, have.data());
        for (int i = 0; i < static_cast<int>(have.size()); ++i) {
          const int x = i % out.w(), y = i / out.w() % out.h(), p = i / out.w() / out.h();
          const float want = half_to_float(float_to_half(pooled(values, shape, p, y, x, average)));
          ck_assert_msg(
              have[static_cast<size_t>(i)] == want, "%s of plane %d, row %d, column %d: %g, not %g",
              average ? "average" : "maximum", p, y, x,
              static_cast<double>(have[static_cast<size_t>(i)]), static_cast<double>(want));
        }
      }
    }
  }
}

DVNN_TEST(windows_pool_over_any_axes) {
  const Tensor in = {plain({1, 1, 4}), {1, 5, 2, 4}};
  const json window = {
      {"kernel", {2}}, {"stride", {2}}, {"dilation", {1}}, {"before", {0}}, {"after", {0}}};
  auto pool = [&](const char* operation) {
    json params = window;
    params["operation"] = operation;
    return run("WindowPool", params, {in}, {1, 1, 2});
  };
  expect(pool("max"), {5, 4});
  expect(pool("place"), {1, 3});
  expect(pool("average"), {3, 3});
  expect(pool("lp"), {std::sqrt(26.0f), std::sqrt(20.0f)});
}

}  // namespace dvnn::test::window_tests
