// SPDX-License-Identifier: Apache-2.0
// Slice and Pad.
#include "../layer_run.h"

namespace dvnn::test::slice_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(slices_step_forwards_and_backwards) {
  const Tensor in = {plain({1, 5}), counting(5)};
  expect(run("Slice", {{"begin", {0, 1}}, {"step", {1, 2}}, {"count", {-1, -1}}}, {in}, {1, 2}),
         {1, 3});
  expect(run("Slice", {{"begin", {0, 4}}, {"step", {1, -2}}, {"count", {-1, -1}}}, {in}, {1, 3}),
         {4, 2, 0});
}

DVNN_TEST(pads_are_zeros_around_a_picture) {
  const Tensor in = {plain({1, 1, 1, 2}), {1, 2}};
  expect(run("Pad", {{"left", 1}, {"right", 0}, {"top", 0}, {"bottom", 1}}, {in}, {1, 1, 2, 3}),
         {0, 1, 2, 0, 0, 0});
}

}  // namespace dvnn::test::slice_tests
