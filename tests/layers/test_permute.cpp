// SPDX-License-Identifier: Apache-2.0
// Permute.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(permute_reorders_axes) {
  const Tensor t = {plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("Permute", {{"order", {0, 2, 3, 1}}}, {t}, {1, 1, 3, 2}), {1, 4, 2, 5, 3, 6});
}
END_TEST

DVNN_TESTS(permute, permute_reorders_axes)
