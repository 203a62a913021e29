// SPDX-License-Identifier: Apache-2.0
// Permute.
#include "../layer_run.h"

namespace dvnn::test::permute_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(permute_reorders_axes) {
  const Tensor t = {plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("Permute", {{"order", {0, 2, 3, 1}}}, {t}, {1, 1, 3, 2}), {1, 4, 2, 5, 3, 6});
}

// Moving element by element in place would read elements that are already overwritten.
DVNN_TEST(a_result_may_lie_where_its_input_lay) {
  std::vector<float> numbers = counting(12);
  const TensorDesc in = plain({1, 1, 3, 4}), out = plain({1, 1, 4, 3});
  auto layer = create_layer("Permute", {{"order", {0, 1, 3, 2}}}, {&in, 1}, {&out, 1});
  ck_assert(layer.ok());
  auto* const bytes = reinterpret_cast<uint8_t*>(numbers.data());
  const ConstTensorView from = {in, bytes};
  const TensorView to = {out, bytes};
  ck_assert(layer.value()->run({&from, 1}, {&to, 1}).ok());
  expect(numbers, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
}

}  // namespace dvnn::test::permute_tests
