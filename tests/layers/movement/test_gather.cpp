// SPDX-License-Identifier: Apache-2.0
// Gather and Tile.
#include "../layer_run.h"

namespace dvnn::test::gather_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(places_count_from_either_end) {
  const Tensor in = {plain({2, 3}), {1, 2, 3, 4, 5, 6}}, places = {plain({2}), {2, -3}};
  expect(run("Gather", {{"axis", 1}}, {in, places}, {2, 2}), {3, 1, 6, 4});
}

DVNN_TEST(tiles_repeat_along_axes) {
  const Tensor in = {plain({1, 2}), {1, 2}};
  expect(run("Tile", {{"repeats", {2, 2}}}, {in}, {2, 4}), {1, 2, 1, 2, 1, 2, 1, 2});
}

}  // namespace dvnn::test::gather_tests
