// SPDX-License-Identifier: Apache-2.0
// Scatter.
#include "../layer_run.h"

namespace dvnn::test::scatter_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(updates_take_the_places_that_are_named) {
  const Tensor in = {plain({3, 2}), {1, 2, 3, 4, 5, 6}}, places = {plain({2}), {2, 0}};
  const Tensor updates = {plain({2, 2}), {10, 20, 30, 40}};
  expect(run("Scatter", json::object(), {in, places, updates}, {3, 2}), {30, 40, 3, 4, 10, 20});
  expect(
      run("Scatter", {{"operation", "max"}}, {in, places, {plain({2, 2}), {0, 9, 0, 0}}}, {3, 2}),
      {1, 2, 3, 4, 5, 9});
}

}  // namespace dvnn::test::scatter_tests
