// SPDX-License-Identifier: Apache-2.0
// GridSample.
#include "../layer_run.h"

namespace dvnn::test::grid_sample_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(places_of_a_grid_are_sampled) {
  const Tensor in = {plain({1, 1, 2, 2}), {1, 2, 3, 4}};
  const Tensor grid = {plain({1, 1, 3, 2}), {-1, -1, 0, 0, 1, 1}};
  expect(run("GridSample", {{"align_corners", true}}, {in, grid}, {1, 1, 1, 3}), {1, 2.5f, 4});
  expect(run("GridSample", {{"mode", "nearest"}, {"padding", "border"}},
             {in, {plain({1, 1, 1, 2}), {9, -9}}}, {1, 1, 1, 1}),
         {2});
}
END_TEST

// More places than are done at a time, of several pictures and channels: each at its own place.
START_TEST(a_grid_of_own_places_gives_the_picture) {
  const Shape shape = {2, 3, 9, 21};
  Tensor in = {plain(shape), {}}, grid = {plain({2, 9, 21, 2}), {}};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    in.values.push_back(static_cast<float>(i * 7 % 61));
  }
  for (int i = 0; i < 2 * 9 * 21; ++i) {
    grid.values.push_back(static_cast<float>(i % 21) / 10 - 1);
    grid.values.push_back(static_cast<float>(i / 21 % 9) / 4 - 1);
  }
  const std::vector<float> found =
      run("GridSample", {{"mode", "nearest"}, {"align_corners", true}}, {in, grid}, shape);
  for (size_t i = 0; i < found.size(); ++i) ck_assert(found[i] == in.values[i]);
}
END_TEST

DVNN_SUITE(layers, places_of_a_grid_are_sampled, a_grid_of_own_places_gives_the_picture)

}  // namespace dvnn::test::grid_sample_tests
