// SPDX-License-Identifier: Apache-2.0
// Values of SSD's layers.
#include "layer_run.h"

namespace dvnn::test::detection_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(rows_of_boxes_come_best_first) {
  // Two priors, a background and one class; deltas of 0 leave boxes equal to their priors.
  const Tensor loc = {plain({1, 8}), std::vector<float>(8)};
  const Tensor conf = {plain({1, 4}), {0.4f, 0.6f, 0.1f, 0.9f}};
  const Tensor priors = {plain({1, 2, 8}),
                         {0, 0, 0.25f, 0.5f, 0.5f, 0.5f, 1, 1,  //
                          0.1f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.2f, 0.2f}};
  expect(
      run("DetectionOutput", {{"num_classes", 2}, {"keep_top_k", 3}, {"confidence_threshold", 0.5}},
          {loc, conf, priors}, {1, 1, 3, 7}),
      {0, 1, 0.9f, 0.5f, 0.5f, 1, 1, 0, 1, 0.6f, 0, 0, 0.25f, 0.5f, -1, 0, 0, 0, 0, 0, 0});
}

DVNN_TEST(boxes_that_overlap_by_more_than_the_threshold_go) {
  // The smaller box is `share` of the larger one, which is also their overlap.
  auto kept = [](float share, json params) {
    const Tensor loc = {plain({1, 8}), std::vector<float>(8)};
    const Tensor conf = {plain({1, 4}), {0.1f, 0.9f, 0.2f, 0.8f}};
    const Tensor priors = {plain({1, 2, 8}),
                           {0, 0, 1, 1, 0, 0, 1, share,  //
                            0.1f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.2f, 0.2f}};
    params.update({{"num_classes", 2}, {"keep_top_k", 2}, {"confidence_threshold", 0.5}});
    const std::vector<float> rows =
        run("DetectionOutput", params, {loc, conf, priors}, {1, 1, 2, 7});
    return rows[7] < 0 ? 1 : 2;
  };
  ck_assert_int_eq(kept(0.75f, {{"nms_threshold", 0.7}}), 1);
  ck_assert_int_eq(kept(0.75f, {{"nms_threshold", 0.8}}), 2);
  // Caffe's default is 0.3.
  ck_assert_int_eq(kept(0.25f, json::object()), 2);
  ck_assert_int_eq(kept(0.375f, json::object()), 1);
}

DVNN_TEST(priors_are_boxes_and_variances) {
  // One cell of a picture of 8 x 4: a square of 4 about its middle.
  const json params = {{"min_sizes", {4}}, {"img_w", 8},   {"img_h", 4},
                       {"layer_w", 1},     {"layer_h", 1}, {"variances", {0.1, 0.1, 0.2, 0.2}}};
  expect(run("PriorBox", params, {}, {1, 2, 4}), {0.25f, 0, 0.75f, 1, 0.1f, 0.1f, 0.2f, 0.2f});
}

}  // namespace dvnn::test::detection_tests
