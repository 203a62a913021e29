// SPDX-License-Identifier: Apache-2.0
// MatMul.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using nlohmann::json;

START_TEST(matrices_of_a_batch_are_multiplied) {
  const Tensor a = {plain({2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 2, 2}), {1, 0, 1, 1}};
  expect(run("MatMul", json::object(), {a, b}, {2, 1, 2}), {3, 2, 7, 4});
}
END_TEST

DVNN_TESTS(matmul, matrices_of_a_batch_are_multiplied)
