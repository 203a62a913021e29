// SPDX-License-Identifier: Apache-2.0
// TopK and CumSum.
#include "../layer_run.h"

namespace dvnn::test::order_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(the_largest_come_first_with_their_places) {
  const Tensor in = {plain({1, 4}), {2, 7, 7, 1}};
  expect(run("TopK", {{"axis", 1}, {"k", 3}}, {in}, {1, 3}), {7, 7, 2});
  expect(run("TopK", {{"axis", 1}, {"k", 3}, {"places", true}}, {in}, {1, 3}), {1, 2, 0});
  expect(run("TopK", {{"axis", 1}, {"k", 2}, {"smallest", true}}, {in}, {1, 2}), {1, 2});
}

DVNN_TEST(sums_grow_along_an_axis) {
  const Tensor in = {plain({2, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("CumSum", {{"axis", 1}}, {in}, {2, 3}), {1, 3, 6, 4, 9, 15});
  expect(run("CumSum", {{"axis", 1}, {"exclusive", true}, {"reverse", true}}, {in}, {2, 3}),
         {5, 3, 0, 11, 6, 0});
}

}  // namespace dvnn::test::order_tests
