// SPDX-License-Identifier: Apache-2.0
// Grids other than YOLO's (test_yolo.cpp): with anchors, as of Yolo-FastestV2, RetinaFace, and
// MTCNN, whose window is one anchor; and with distances, as of NanoDet.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::grids_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(anchors_share_classes_and_interleave_them_if_told_so) {
  // Boxes of both anchors, objectness of both, then two classes for both (Yolo-FastestV2).
  const std::vector<float> row = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
                                  1,    0.5f, 0.1f, 0.9f, 0.2f, 0.8f};
  const json params = with(kGrid, {{"anchors", {{4, 4, 8, 2}}},
                                   {"shared", {"scores"}},
                                   {"activated", true},
                                   {"box", "yolo-scaled"}});
  auto found = Outputs().add("o", {1, kCells, 12}, one_row(row)).found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  assert_box(found[0], (12 - 16) / 32.0, 11 / 16.0, (12 + 16) / 32.0, 13 / 16.0);
  // Background of both, then faces of both (RetinaFace's Caffe model).
  Outputs outputs;
  outputs.add("b", {1, kCells, 8}, one_row({9, 9, 9, 9, 0.25f, 0, 0, 0}))
      .add("s", {1, kCells, 4}, one_row({0.9f, 0.3f, 0.1f, 0.7f}));
  found = outputs.found("anchors",
                        with(kGrid, {{"anchors", {{4, 4, 8, 2}}},
                                     {"parts", {"boxes", "scores"}},
                                     {"inner", {"scores"}},
                                     {"background_label_id", 0},
                                     {"box", "deltas"}}),
                        0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_float_eq_tol(found[0].confidence, 0.7f, 1e-6f);
  assert_box(found[0], (8 + 2 - 4) / 32.0, 7 / 16.0, (8 + 2 + 4) / 32.0, 9 / 16.0);
}

DVNN_TEST(mtcnn_looks_again_at_crops) {
  // Its third stage: one window of 48 pixels; corners move by parts of it, points are parts of it.
  const json params = {{"image", {48, 48}},   {"parts", {"boxes", "points", "scores"}},
                       {"num_classes", 2},    {"background_label_id", 0},
                       {"strides", {48}},     {"box", "corners"},
                       {"center", 24},        {"anchors", {{48, 48}}},
                       {"point_count", 5},    {"points_by_axis", true},
                       {"skeleton", "face-5"}};
  Outputs outputs;
  outputs.add("conv6-2", {1, 4}, {0.25f, 0.125f, -0.25f, 0.0f})
      .add("conv6-3", {1, 10}, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f})
      .add("prob1", {1, 2}, {0.2f, 0.8f});
  const auto found = outputs.found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
  assert_box(found[0], 0.25, 0.125, 0.75, 1);
  ck_assert_uint_eq(found[0].points.size(), 5);
  for (size_t k = 0; k < 5; ++k) {
    const auto at = static_cast<double>(k);
    ck_assert_double_eq_tol(found[0].points[k].x, 0.1 + 0.1 * at, 1e-6);
    ck_assert_double_eq_tol(found[0].points[k].y, 0.6 + 0.1 * at, 1e-6);
  }
}

DVNN_TEST(mtcnn_has_an_anchor_where_a_window_fits) {
  // Its first stage: windows of 12 pixels, 2 apart. In 20x16 pixels 5 x 3 of them fit.
  constexpr size_t kColumns = 5, kWindows = 15, kFound = kColumns + 2;
  const json params = {{"image", {20, 16}},    {"parts", {"boxes", "scores"}},
                       {"num_classes", 2},     {"background_label_id", 0},
                       {"strides", {2}},       {"box", "corners"},
                       {"window", 12},         {"center", 6},
                       {"anchors", {{12, 12}}}};
  std::vector<float> scores(2 * kWindows, 0);
  scores[2 * kFound + 1] = 0.75f;
  Outputs outputs;
  outputs.add("boxes", {1, kWindows, 4}, std::vector<float>(4 * kWindows, 0))
      .add("scores", {1, kWindows, 2}, scores);
  const auto found = outputs.found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 4 / 20.0, 2 / 16.0, 16 / 20.0, 14 / 16.0);
}

DVNN_TEST(mtcnn_numbers_are_the_upright_pictures) {
  // The network sees columns for rows: what moves the picture's x moves the input's y.
  const json params = {{"image", {24, 24}},    {"parts", {"boxes", "scores"}},
                       {"num_classes", 2},     {"background_label_id", 0},
                       {"strides", {24}},      {"box", "corners"},
                       {"transposed", true},   {"center", 12},
                       {"anchors", {{24, 24}}}};
  Outputs outputs;
  outputs.add("conv5-2", {1, 4}, {0.25f, 0.125f, -0.25f, 0.0f}).add("prob1", {1, 2}, {0.2f, 0.8f});
  const auto found = outputs.found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0.125, 0.25, 1, 0.75);
}

DVNN_TEST(distances_reach_from_the_cells_centre) {
  Outputs outputs;
  outputs.add("score", {1, kCells, 1}, one_row({0.9f}))
      .add("box", {1, kCells, 4}, one_row({1, 0.5f, 2, 0.25f}))
      .add("points", {1, kCells, 4}, one_row({0.5f, 0, -1, 1}));
  const auto found = outputs.found("grid",
                                   with(kGrid, {{"parts", {"scores", "boxes", "points"}},
                                                {"box", "distances"},
                                                {"offset", 0},
                                                {"point_count", 2},
                                                {"skeleton", "two"}}),
                                   0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0, 4 / 16.0, 24 / 32.0, 10 / 16.0);
  ck_assert_uint_eq(found[0].points.size(), 2);
  ck_assert_double_eq_tol(found[0].points[0].x, 12 / 32.0, 1e-6);
  ck_assert_double_eq_tol(found[0].points[1].y, 16 / 16.0, 1e-6);
  dvnn_assert_text(found[0].skeleton, "two");
}

DVNN_TEST(levels_share_an_output_or_have_their_own) {
  // At strides 8 and 16: 4 x 2 cells and 2 x 1. Cell 1 of the latter has its centre at (24, 8).
  constexpr size_t kCoarse = 2, kAll = kCells + kCoarse;
  const json params = {{"image", {32, 16}},
                       {"strides", {8, 16}},
                       {"parts", {"scores", "boxes"}},
                       {"box", "distances"}};
  std::vector<float> scores(4 * kAll, 0.0f), boxes(4 * kAll, 0.0f);
  for (size_t i = 0; i < 4; ++i) boxes[4 * (kAll - 1) + i] = 0.25f;
  scores[4 * (kAll - 1) + 2] = 0.9f;
  const size_t split = 4 * kCells;
  auto part = [&](const std::vector<float>& all, bool fine) {
    const auto cut = all.begin() + static_cast<std::ptrdiff_t>(split);
    return fine ? std::vector<float>(all.begin(), cut) : std::vector<float>(cut, all.end());
  };
  Outputs joined, apart;
  // Boxes take the first outputs that are like them; scores of four classes are, too, and must not
  // take the same.
  joined.add("boxes", {1, kAll, 4}, boxes).add("scores", {1, kAll, 4}, scores);
  apart.add("boxes8", {1, kCells, 4}, part(boxes, true))
      .add("boxes16", {1, kCoarse, 4}, part(boxes, false))
      .add("scores8", {1, kCells, 4}, part(scores, true))
      .add("scores16", {1, kCoarse, 4}, part(scores, false));
  for (const Outputs* outputs : {&joined, &apart}) {
    const auto found = outputs->found("grid", params, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_int_eq(found[0].class_id, 2);
    ck_assert_float_eq_tol(found[0].confidence, 0.9f, 1e-6f);
    assert_box(found[0], 20 / 32.0, 4 / 16.0, 28 / 32.0, 12 / 16.0);
  }
}

}  // namespace dvnn::test::grids_tests
