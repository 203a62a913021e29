// SPDX-License-Identifier: Apache-2.0
// Normalize.
#include "../layer_run.h"

namespace dvnn::test::normalize_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(normalize_scales_to_unit_length) {
  const Tensor t = {plain({1, 2, 1, 2}), {3, 0, 4, 2}};
  expect(
      run("Normalize", {{"across_spatial", false}, {"channel_shared", false}, {"scale", {10, 20}}},
          {t}, {1, 2, 1, 2}),
      {6, 0, 16, 20});
}

}  // namespace dvnn::test::normalize_tests
