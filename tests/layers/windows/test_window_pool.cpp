// SPDX-License-Identifier: Apache-2.0
// WindowPool.
#include <cmath>

#include "../layer_run.h"

namespace dvnn::test::window_pool_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

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

}  // namespace dvnn::test::window_pool_tests
