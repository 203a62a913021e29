// SPDX-License-Identifier: Apache-2.0
// Reshape, which is also called Flatten.
#include "../layer_run.h"

namespace dvnn::test::reshape_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(elements_keep_their_order_in_another_shape) {
  const Tensor in = {plain({1, 2, 1, 3}), counting(6)};
  expect(run("Reshape", {{"dims", {0, -1}}}, {in}, {1, 6}), {0, 1, 2, 3, 4, 5});
  expect(run("Flatten", {{"dims", {3, 2}}}, {in}, {3, 2}), {0, 1, 2, 3, 4, 5});
}
END_TEST

DVNN_SUITE(layers, elements_keep_their_order_in_another_shape)

}  // namespace dvnn::test::reshape_tests
