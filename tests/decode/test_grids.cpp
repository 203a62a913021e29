// SPDX-License-Identifier: Apache-2.0
// Grids: YOLO's, as of YOLOX, v6 and v8 to v11, with sides that may be distributions, and the
// anchors of v2 to v7; and those of others, with anchors, as of Yolo-FastestV2, RetinaFace, and
// MTCNN, whose window is one anchor, and with distances, as of NanoDet.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::grids_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(grid_boxes_are_the_same_from_every_order_and_type) {
  // Eleven columns are a chunk of the device's layouts and a part of one.
  const std::vector<float> row = {0.5f, 0.25f, 0, std::log(2.0f), 0.75f, 0, 0, 0.1f, 0.875f, 0, 0};
  const std::vector<float> rows = one_row(row), columns = transposed(rows, row.size());
  const int c = static_cast<int>(row.size());
  auto check = [&](const Outputs& outputs) {
    const auto found = outputs.found("grid", kGrid, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_int_eq(found[0].class_id, 3);
    ck_assert_float_eq_tol(found[0].confidence, 0.75f * 0.875f, 1e-3f);
    // Centre (1.5, 1.25) cells, 1 x 2 cells.
    assert_box(found[0], 8 / 32.0, 2 / 16.0, 16 / 32.0, 18 / 16.0);
  };
  for (const ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    check(Outputs().add("o", {1, kCells, c}, rows, type));
    check(Outputs().add("o", {kCells, c}, rows, type));
    check(Outputs().add("o", {1, c, kCells}, columns, type));
    for (const Layout layout :
         {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
      check(Outputs().add("o", {1, c, 2, 4}, columns, type, layout));
    }
  }
}

DVNN_TEST(sides_are_means_of_distributions) {
  // Two of four bins are as likely as each other, the others are not likely at all.
  const std::vector<float> row = {9, 9, -99, -99, -99, 9, 9, -99, 9, -99, -99, -99, -99, -99, 9, 9};
  Outputs outputs;
  outputs.add("b", {1, kCells, 16}, one_row(row)).add("s", {1, kCells, 2}, one_row({0.25f, 0.75f}));
  const auto found = outputs.found(
      "grid", with(kGrid, {{"parts", {"boxes", "scores"}}, {"box", "distribution"}, {"bins", 4}}),
      0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  // From the centre (12, 12) by 0.5, 1.5, 0 and 2.5 cells.
  assert_box(found[0], 8 / 32.0, 0, 12 / 32.0, 32 / 16.0);
}

DVNN_TEST(sides_of_oriented_boxes_turn_with_them) {
  constexpr double kPi = 3.14159265358979;
  // Two cells long and one high, and its centre half a cell beyond the cell's own.
  const std::vector<float> sides = {0.5f, 0.5f, 1.5f, 0.5f};
  const auto found = [&](float angle, const char* form) {
    Outputs outputs;
    outputs.add("b", {1, kCells, 4}, one_row(sides));
    outputs.add("a", {1, kCells, 1}, one_row({angle}));
    outputs.add("s", {1, kCells, 2}, one_row({0.75f, 0}));
    return outputs.found("grid",
                         with(kGrid, {{"parts", {"boxes", "angle", "scores"}},
                                      {"box", "distances"},
                                      {"num_classes", 2},
                                      {"angle", form}}),
                         0.5f);
  };
  // A quarter turn: below the cell's centre (12, 12), one cell wide and two high.
  const auto upright = found(static_cast<float>(kPi / 2), "radians");
  ck_assert_uint_eq(upright.size(), 1);
  assert_box(upright[0], 8 / 32.0, 8 / 16.0, 16 / 32.0, 24 / 16.0);
  ck_assert_uint_eq(upright[0].outline.size(), 4);
  // The corner that was top left is top right.
  ck_assert_double_eq_tol(upright[0].outline[0].x, 16 / 32.0, 1e-5);
  ck_assert_double_eq_tol(upright[0].outline[0].y, 8 / 16.0, 1e-5);
  // (sigmoid(ln 3) - 1/4) pi is the same quarter turn, and that of -ln 3 none.
  const auto same = found(std::log(3.0f), "sigmoid");
  assert_box(same[0], 8 / 32.0, 8 / 16.0, 16 / 32.0, 24 / 16.0);
  const auto flat = found(-std::log(3.0f), "sigmoid");
  assert_box(flat[0], 8 / 32.0, 8 / 16.0, 24 / 32.0, 16 / 16.0);
}

DVNN_TEST(prototypes_are_the_finest_map) {
  Outputs outputs;
  outputs.add("m", {1, 2, 2, 4}, std::vector<float>(16, 1.0f));
  outputs.add("b", {1, kCells, 4}, one_row({0.5f, 0.5f, 0.5f, 0.5f}));
  outputs.add("s", {1, kCells, 3}, one_row({0, 0.75f, 0}));
  outputs.add("p", {1, 2, 4, 8}, std::vector<float>(64, 0.5f));
  const auto found = outputs.found(
      "grid",
      with(kGrid,
           {{"parts", {"boxes", "masks", "scores"}}, {"box", "distances"}, {"mask_count", 2}}),
      0.5f);
  ck_assert_uint_eq(found.size(), 1);
  // The box is of one cell, which is 2x2 of the prototypes'.
  ck_assert_int_eq(found[0].mask.width, 2);
  ck_assert_int_eq(found[0].mask.height, 2);
  ck_assert_int_eq(found[0].mask.cells[0], std::lrint(255 / (1 + std::exp(-1.0))));
}

DVNN_TEST(anchors_of_a_cell_have_their_own_rows) {
  // Two anchors of (objectness behind the box, two classes): 2 x 7 columns.
  std::vector<float> row(14, -9.0f);
  const std::vector<float> second = {0, 0, 0, std::log(3.0f), 9, -9, 9};
  std::copy(second.begin(), second.end(), row.begin() + 7);
  const json params = with(
      kGrid, {{"anchors", {{4, 4, 8, 2}}}, {"objectness_score", "sigmoid"}, {"score", "sigmoid"}});
  const auto rows = one_row(row, -9.0f);
  auto check = [&](const Outputs& outputs) {
    const auto found = outputs.found("anchors", params, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_int_eq(found[0].class_id, 1);
    const float sure = 1 / (1 + std::exp(-9.0f));
    ck_assert_float_eq_tol(found[0].confidence, sure * sure, 1e-3f);
    // Centre (1.5, 1.5) cells, 8 x 6 pixels.
    assert_box(found[0], 8 / 32.0, 9 / 16.0, 16 / 32.0, 15 / 16.0);
  };
  check(Outputs().add("o", {1, kCells, 14}, rows));
  check(Outputs().add("o", {1, 14, 2, 4}, transposed(rows, 14), ElementType::kFloat16,
                      Layout::kWhc8));
  // 1 x anchors x H x W x columns, as YOLOv5's raw outputs are.
  std::vector<float> split;
  for (size_t a = 0; a < 2; ++a) {
    for (size_t i = 0; i < kCells; ++i) {
      split.insert(split.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * 14 + a * 7),
                   rows.begin() + static_cast<std::ptrdiff_t>(i * 14 + a * 7 + 7));
    }
  }
  check(Outputs().add("o", {1, 2, 2, 4, 7}, split));
}

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
