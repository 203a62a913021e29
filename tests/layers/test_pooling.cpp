// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(pooling_clips_windows_as_caffe_does) {
  const Tensor t = {plain({1, 1, 3, 3}), counting(9)};
  const json window = {{"kernel_w", 2}, {"kernel_h", 2}, {"stride_w", 2}, {"stride_h", 2}};
  json max = window, average = window;
  max["method"] = "max";
  average["method"] = "average";
  expect(run("Pooling", max, {t}, {1, 1, 2, 2}), {4, 5, 7, 8});
  expect(run("Pooling", average, {t}, {1, 1, 2, 2}), {2, 3.5f, 6.5f, 8});
}
END_TEST

DVNN_TESTS(pooling, pooling_clips_windows_as_caffe_does)
