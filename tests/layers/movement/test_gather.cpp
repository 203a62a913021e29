// SPDX-License-Identifier: Apache-2.0
// Gather and Tile.
#include "../layer_run.h"

namespace dvnn::test::gather_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(places_count_from_either_end) {
  const Tensor in = {plain({2, 3}), {1, 2, 3, 4, 5, 6}}, places = {plain({2}), {2, -3}};
  expect(run("Gather", {{"axis", 1}}, {in, places}, {2, 2}), {3, 1, 6, 4});
}
END_TEST

START_TEST(tiles_repeat_along_axes) {
  const Tensor in = {plain({1, 2}), {1, 2}};
  expect(run("Tile", {{"repeats", {2, 2}}}, {in}, {2, 4}), {1, 2, 1, 2, 1, 2, 1, 2});
}
END_TEST

DVNN_SUITE(layers, places_count_from_either_end, tiles_repeat_along_axes)

}  // namespace dvnn::test::gather_tests
