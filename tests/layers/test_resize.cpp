// SPDX-License-Identifier: Apache-2.0
// Resize.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using nlohmann::json;

START_TEST(arrays_are_resampled_along_their_axes) {
  const Tensor in = {plain({1, 1, 1, 2}), {1, 5}};
  auto twice = [&](json params) {
    params["scales"] = {1, 1, 1, 2};
    return run("Resize", params, {in}, {1, 1, 1, 4});
  };
  expect(twice({{"mode", "linear"}, {"coordinates", "half_pixel"}}), {1, 2, 4, 5});
  expect(twice({{"mode", "linear"}, {"coordinates", "align_corners"}}),
         {1, 1 + 4 / 3.0f, 1 + 8 / 3.0f, 5});
  expect(twice({{"mode", "nearest"}, {"coordinates", "asymmetric"}, {"rounding", "floor"}}),
         {1, 1, 5, 5});
}
END_TEST

DVNN_TESTS(resize, arrays_are_resampled_along_their_axes)
