// SPDX-License-Identifier: Apache-2.0
// PReLU and Scale.
#include "../layer_run.h"

namespace dvnn::test::per_channel_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(channels_have_parameters_of_their_own) {
  const Tensor two = {plain({1, 2, 1, 2}), {1, -1, 2, -2}};
  expect(run("PReLU", {{"slope", {0.5, 0.25}}}, {two}, {1, 2, 1, 2}), {1, -0.5f, 2, -0.5f});
  expect(run("Scale", {{"scale", {2, 3}}, {"bias", {1, 0}}}, {two}, {1, 2, 1, 2}), {3, -1, 6, -6});
  expect(run("Scale", {{"axis", 3}, {"scale", {2, 3}}}, {two}, {1, 2, 1, 2}), {2, -3, 4, -6});
}
END_TEST

DVNN_SUITE(layers, channels_have_parameters_of_their_own)

}  // namespace dvnn::test::per_channel_tests
