// SPDX-License-Identifier: Apache-2.0
// Concat.
#include "../layer_run.h"

namespace dvnn::test::concat_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(concat_joins_along_any_axis) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 1, 1, 2}), {5, 6}};
  expect(run("Concat", {{"axis", 1}}, {a, b}, {1, 3, 1, 2}), {1, 2, 3, 4, 5, 6});
  const Tensor c = {plain({1, 2, 2}), {1, 2, 3, 4}}, d = {plain({1, 2, 1}), {5, 6}};
  expect(run("Concat", {{"axis", 2}}, {c, d}, {1, 2, 3}), {1, 2, 5, 3, 4, 6});
}

}  // namespace dvnn::test::concat_tests
