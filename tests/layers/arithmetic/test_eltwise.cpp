// SPDX-License-Identifier: Apache-2.0
// Eltwise.
#include "../layer_run.h"

namespace dvnn::test::eltwise_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(eltwise_combines_inputs_of_one_shape) {
  const Tensor a = {plain({1, 1, 1, 3}), {1, -2, 3}}, b = {plain({1, 1, 1, 3}), {4, 5, -6}};
  expect(run("Eltwise", {{"operation", "max"}}, {a, b}, {1, 1, 1, 3}), {4, 5, 3});
  expect(run("Eltwise", {{"operation", "prod"}}, {a, b}, {1, 1, 1, 3}), {4, -10, -18});
  expect(run("Eltwise", {{"coeff", {2, -1}}}, {a, b}, {1, 1, 1, 3}), {-2, -9, 12});
}
END_TEST

DVNN_SUITE(layers, eltwise_combines_inputs_of_one_shape)

}  // namespace dvnn::test::eltwise_tests
