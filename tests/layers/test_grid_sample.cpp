// SPDX-License-Identifier: Apache-2.0
// GridSample.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
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

DVNN_TESTS(grid_sample, places_of_a_grid_are_sampled)
