// SPDX-License-Identifier: Apache-2.0
// LRN.
#include "../layer_run.h"

namespace dvnn::test::lrn_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(squares_of_neighbouring_channels_divide) {
  const Tensor in = {plain({1, 3, 1, 1}), {1, 2, 3}};
  // Over bias + alpha / size * the squares of up to three channels.
  expect(run("LRN", {{"size", 3}, {"alpha", 3}, {"beta", 1}, {"bias", 1}}, {in}, {1, 3, 1, 1}),
         {1 / 6.0f, 2 / 15.0f, 3 / 14.0f});
}

}  // namespace dvnn::test::lrn_tests
