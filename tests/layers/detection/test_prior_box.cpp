// SPDX-License-Identifier: Apache-2.0
// PriorBox.
#include "../layer_run.h"

namespace dvnn::test::prior_box_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(priors_are_boxes_and_variances) {
  // One cell of a picture of 8 x 4: a square of 4 about its middle.
  const json params = {{"min_sizes", {4}}, {"img_w", 8},   {"img_h", 4},
                       {"layer_w", 1},     {"layer_h", 1}, {"variances", {0.1, 0.1, 0.2, 0.2}}};
  expect(run("PriorBox", params, {}, {1, 2, 4}), {0.25f, 0, 0.75f, 1, 0.1f, 0.1f, 0.2f, 0.2f});
}

}  // namespace dvnn::test::prior_box_tests
