// SPDX-License-Identifier: Apache-2.0
// DetectionOutput.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(rows_of_boxes_come_best_first) {
  // Two priors, a background and one class; deltas of 0 leave boxes as the priors are.
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
END_TEST

DVNN_TESTS(detection_output, rows_of_boxes_come_best_first)
