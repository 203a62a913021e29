// SPDX-License-Identifier: Apache-2.0
// Convolution.
#include "../layer_run.h"

namespace dvnn::test::convolution_tests {

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

}  // namespace dvnn::test::convolution_tests
