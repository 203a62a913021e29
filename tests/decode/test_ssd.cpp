// SPDX-License-Identifier: Apache-2.0
// SSD and its kin: raw heads over anchors or priors, and rows of a finished DetectionOutput.
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::ssd_tests {

DVNN_SUITE(decoders);

using namespace dvnn::decode;
using json = dvnn::Json;

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

}  // namespace dvnn::test::ssd_tests
