// SPDX-License-Identifier: Apache-2.0
#include "decode/boxes/ssd_decoder.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::priors_tests {

DVNN_SUITE(priors);

using namespace dvnn::decode;
using json = dvnn::Json;

DVNN_TEST(anchor_rules_make_the_detectors_counts) {
  const json ulfg = {{"rule", "min-boxes"},
                     {"image", {320, 240}},
                     {"strides", {8, 16, 32, 64}},
                     {"min_boxes", {{10, 16, 24}, {32, 48}, {64, 96}, {128, 192, 256}}}};
  const auto priors = make_anchors(ulfg);
  ck_assert(priors.ok());
  ck_assert_uint_eq(priors.value().size(), 4420);
  const kernels::Box& last = priors.value().back().box;  // 256 of 240 rows: clamped to the picture
  ck_assert_float_eq_tol(last.y1 - last.y0, 1.0f, 1e-6f);
  const json ratios = {1, 0.62, 0.42};
  const json mask = {
      {"rule", "sizes-ratios"},
      {"features", {{33, 33}, {17, 17}, {9, 9}, {5, 5}, {3, 3}}},
      {"sizes", {{0.04, 0.056}, {0.08, 0.11}, {0.16, 0.22}, {0.32, 0.45}, {0.64, 0.72}}},
      {"ratios", {ratios, ratios, ratios, ratios, ratios}}};
  ck_assert_uint_eq(make_anchors(mask).value().size(), 5972);
}

static std::vector<float> read_npy(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> values;
  if (!file) return values;
  char head[10];
  file.read(head, sizeof head);
  file.seekg(10 + (static_cast<uint8_t>(head[8]) | static_cast<uint8_t>(head[9]) << 8));
  for (float v; file.read(reinterpret_cast<char*>(&v), sizeof v);) values.push_back(v);
  return values;
}

DVNN_TEST(min_box_anchors_decode_the_reference_boxes) {
  // Raw deltas and decoded boxes of the ultra-light face detector; origin: golden/ulfg_rfb320_onnx.
  const auto raw = read_npy(DVNN_TEST_DATA "/golden/ulfg_rfb320_onnx/ulfg_5.jpg.raw_deltas.npy");
  const auto want =
      read_npy(DVNN_TEST_DATA "/golden/ulfg_rfb320_onnx/ulfg_5.jpg.boxes_decoded.npy");
  if (raw.empty() || want.empty()) {
    std::puts("skipped: no reference data");
    return;
  }
  const json rule = {{"rule", "min-boxes"},
                     {"image", {320, 240}},
                     {"strides", {8, 16, 32, 64}},
                     {"min_boxes", {{10, 16, 24}, {32, 48}, {64, 96}, {128, 192, 256}}}};
  const auto priors = make_anchors(rule);
  ck_assert_uint_eq(raw.size(), priors.value().size() * 4);
  ck_assert_uint_eq(want.size(), raw.size());
  for (size_t i = 0; i < priors.value().size(); ++i) {
    const kernels::Box b =
        decode_box(kernels::CodeType::kCenterSize, priors.value()[i], &raw[4 * i]);
    const float have[4] = {b.x0, b.y0, b.x1, b.y1};
    for (size_t k = 0; k < 4; ++k) ck_assert_float_eq_tol(have[k], want[4 * i + k], 1e-4f);
  }
}

DVNN_TEST(impossible_rules_are_refused) {
  ck_assert(!make_anchors({{"rule", "spiral"}}).ok());
  ck_assert(!make_anchors(json::object()).ok());
  ck_assert(!make_anchors(
                 {{"rule", "min-boxes"}, {"image", {320}}, {"strides", {8}}, {"min_boxes", {{1}}}})
                 .ok());
  ck_assert(!make_anchors({{"rule", "min-boxes"},
                           {"image", {32768, 32768}},
                           {"strides", {1}},
                           {"min_boxes", {{1}}}})
                 .ok());
}

}  // namespace dvnn::test::priors_tests
