// SPDX-License-Identifier: Apache-2.0
// Unary.
#include <cmath>

#include "../layer_run.h"

namespace dvnn::test::unary_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(functions_of_one_element_compute) {
  const Tensor in = {plain({1, 1, 1, 3}), {-1.5f, 0, 2.5f}};
  auto apply = [&](json params) { return run("Unary", params, {in}, {1, 1, 1, 3}); };
  expect(apply({{"function", "abs"}}), {1.5f, 0, 2.5f});
  expect(apply({{"function", "round"}}), {-2, 0, 2});  // to even
  expect(apply({{"function", "clip"}, {"min", -1}, {"max", 2}}), {-1, 0, 2});
  expect(apply({{"function", "exp"}}), {std::exp(-1.5f), 1, std::exp(2.5f)});
}
END_TEST

DVNN_SUITE(layers, functions_of_one_element_compute)

}  // namespace dvnn::test::unary_tests
