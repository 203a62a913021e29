// SPDX-License-Identifier: Apache-2.0
// SSD and its kin: raw heads over anchors or priors, and rows of a finished DetectionOutput.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/json.h"
#include "check_suite.h"
#include "decode/boxes/ssd_decoder.h"
#include "outputs.h"

namespace dvnn::test::ssd_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;
using namespace dvnn::decode;

DVNN_TEST(raw_heads_become_boxes_over_anchors) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert_msg(decoder.ok(), "%s", decoder.ok() ? "" : decoder.error().message.c_str());
  const std::vector<float> loc(16, 0.0f), conf = {1, 0, 0.2f, 0.8f, 1, 0, 0.4f, 0.6f};
  const ConstTensorView views[] = {view(outputs[0], loc), view(outputs[1], conf)};
  objects::Objects found;
  ck_assert(decoder.value()->decode({views, 2}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_double_eq_tol(found[0].box.x0, 0.5, 1e-6);  // anchor 1: right column, upper row
  ck_assert_double_eq_tol(found[0].box.y1, 0.5, 1e-6);
  ck_assert_int_eq(found[0].class_id, 1);
}

DVNN_TEST(priors_bring_points_and_linear_sizes) {
  const json params = {{"parts", {"boxes+points", "scores"}},
                       {"num_classes", 1},
                       {"background_label_id", -1},
                       {"point_count", 1},
                       {"score", "sigmoid"},
                       {"code_type", "linear"},
                       {"anchors",
                        {{"rule", "sizes-ratios"},
                         {"features", {{2, 2}, {1, 1}}},
                         {"sizes", {{1}, {1, 1}}},
                         {"ratios", {{1}, {1}}},
                         {"variances", {0.125}}}}};
  // Each grid has outputs of its own: four anchors, and two in one cell.
  std::vector<float> near(24, 0.0f), far(12, 0.0f);
  const std::vector<float> row = {1, -1, 2, 4, 1, 0};
  std::copy(row.begin(), row.end(), far.begin() + 6);
  const auto found = Outputs()
                         .add("s1", {1, 4, 1}, {-9, -9, -9, -9})
                         .add("s2", {1, 2, 1}, {-9, 9})
                         .add("b1", {1, 4, 6}, near)
                         .add("b2", {1, 2, 6}, far)
                         .found("ssd", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0.625 - 0.125, 0.375 - 0.25, 0.625 + 0.125, 0.375 + 0.25);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.625, 1e-6);
}

// Names of outputs may be any text.
DVNN_TEST(an_error_about_an_output_is_a_line) {
  const auto made = Outputs().add("lo\nc\x1b[2J", {1, 3}, {0, 0, 0}).make("ssd", ssd_params());
  ck_assert(!made.ok());
  const std::string& why = made.error().message;
  ck_assert_msg(why.find("lo?c?[2J 1x3") != std::string::npos, "%s", why.c_str());
}

// With classes together, a box has the class of its best score, and suppresses those of others.
DVNN_TEST(boxes_of_all_classes_are_suppressed_together) {
  json params = ssd_params();
  params["num_classes"] = 4;
  params["nms_threshold"] = 0.1;  // all four boxes share a seventh at least
  params["anchors"]["min_boxes"] = {{64}};
  const std::vector<float> scores = {0.1f, 0.2f, 0.7f, 0.6f, 0,    0.9f, 0.1f, 0.2f,
                                     0.9f, 0.3f, 0.2f, 0.8f, 0.1f, 0.2f, 0.3f, 0.4f};
  const auto found_when = [&](bool together) {
    params["class_agnostic"] = together;
    return Outputs()
        .add("loc", {1, 4, 4}, std::vector<float>(16, 0.0f))
        .add("conf", {1, 4, 4}, scores)
        .found("ssd", params, 0.5f);
  };
  const auto together = found_when(true), apart = found_when(false);
  ck_assert_uint_eq(together.size(), 1);
  ck_assert_int_eq(together[0].class_id, 1);
  ck_assert_float_eq(together[0].confidence, 0.9f);
  ck_assert_uint_eq(apart.size(), 3);
  ck_assert_int_eq(apart[1].class_id, 3);
  ck_assert_float_eq(apart[1].confidence, 0.8f);
}

DVNN_TEST(boxes_that_are_nowhere_are_left_out) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert(decoder.ok());
  std::vector<float> loc(16, 0.0f);
  const std::vector<float> conf = {0, 1, 0, 1, 0, NAN, 0, 1};
  loc[0] = NAN;
  loc[7] = 1e9f;  // exp() of it is infinite
  const ConstTensorView views[] = {view(outputs[0], loc), view(outputs[1], conf)};
  objects::Objects found;
  ck_assert(decoder.value()->decode({views, 2}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
}

DVNN_TEST(anchors_and_classes_are_held_against_outputs_before_memory_is_taken) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  json params = ssd_params();
  params["num_classes"] = 65536;  // with 2^20 anchors: 256 GiB
  params["anchors"] = {{"rule", "prior-box"},
                       {"layers",
                        {{{"min_sizes", {1}},
                          {"img_w", 1024},
                          {"img_h", 1024},
                          {"layer_w", 1024},
                          {"layer_h", 1024}}}}};
  const auto decoder = create_decoder("ssd", params, {outputs, 2});
  ck_assert(!decoder.ok());
  ck_assert_msg(decoder.error().message.find("output 'loc'") != std::string::npos, "%s",
                decoder.error().message.c_str());
}

DVNN_TEST(candidates_of_all_classes_have_a_budget) {
  const NamedOutput outputs[] = {output("loc", {1, 4, 4}), output("conf", {1, 4, 2})};
  setenv("DVNN_MAX_CANDIDATES", "3", 1);
  const auto decoder = create_decoder("ssd", ssd_params(), {outputs, 2});
  ck_assert(!decoder.ok());
  ck_assert(decoder.error().message.find("DVNN_MAX_CANDIDATES") != std::string::npos);
  json params = ssd_params();
  params["nms_top_k"] = 3;
  ck_assert(create_decoder("ssd", params, {outputs, 2}).ok());
  unsetenv("DVNN_MAX_CANDIDATES");
}

DVNN_TEST(boxes_that_overlap_more_than_they_are_told_to_go) {
  // The second anchor's box moves left by 0.35, so that it shares
  // 0.35 of 0.65 with the first.
  auto kept = [](double threshold) {
    json params = ssd_params();
    params["nms_threshold"] = threshold;
    std::vector<float> loc(16, 0.0f);
    loc[4] = -7;
    return Outputs()
        .add("loc", {1, 4, 4}, loc)
        .add("conf", {1, 4, 2}, {0, 0.9f, 0, 0.8f, 1, 0, 1, 0})
        .found("ssd", params, 0.5f)
        .size();
  };
  const double overlap = 0.35 / 0.65;
  ck_assert_uint_eq(kept(overlap - 0.02), 1);
  ck_assert_uint_eq(kept(overlap + 0.02), 2);
}

DVNN_TEST(detection_rows_are_read_until_their_threshold) {
  const NamedOutput rows = output("d", {1, 1, 3, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const std::vector<float> values = {0, 2, 0.6f, 0,  0, 0.5f, 0.5f, 0, 1, 0.9f, 0.1f,
                                     0, 1, 1,    -1, 0, 0,    0,    0, 0, 0};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert(found[1].box.x1 == 0.5f);
  found.clear();
  ck_assert(decoder.value()->decode({&v, 1}, 0.7f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
}

DVNN_TEST(rows_of_impossible_classes_are_no_objects) {
  const NamedOutput rows = output("d", {1, 1, 4, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float nan = std::nanf("");
  const std::vector<float> values = {0, nan, 1, 0, 0, 1, 1, 0, 1e30f, 1, 0, 0, 1, 1,
                                     0, -1,  1, 0, 0, 1, 1, 0, 3,     1, 0, 0, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 3);
}

DVNN_TEST(what_is_no_number_and_no_class_is_no_detection) {
  const NamedOutput rows = output("d", {1, 1, 8, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float inf = INFINITY;
  const std::vector<float> values = {0,   1,   0.9f, 0, 0,   1, 1,  // the only good one
                                     0,   NAN, 0.9f, 0, 0,   1, 1, 0, 1e30f, 0.9f, 0, 0, 1,   1,  //
                                     0,   -5,  0.9f, 0, 0,   1, 1, 0, 1,     NAN,  0, 0, 1,   1,  //
                                     NAN, 1,   0.9f, 0, 0,   1, 1, 0, 1,     0.9f, 0, 0, inf, 1,  //
                                     0,   inf, 0.9f, 0, NAN, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.1f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
}

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

}  // namespace dvnn::test::ssd_tests
