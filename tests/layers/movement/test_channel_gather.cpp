// SPDX-License-Identifier: Apache-2.0
// ChannelGather.
#include "../layer_run.h"

namespace dvnn::test::channel_gather_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(channels_come_from_any_input) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 1, 1, 2}), {5, 6}};
  expect(
      run("ChannelGather", {{"inputs", {1, 0, 0}}, {"channels", {0, 1, 0}}}, {a, b}, {1, 3, 1, 2}),
      {5, 6, 3, 4, 1, 2});
}

}  // namespace dvnn::test::channel_gather_tests
