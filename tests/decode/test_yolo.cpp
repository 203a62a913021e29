// SPDX-License-Identifier: Apache-2.0
// YOLO: the grids of YOLOX, v6 and v8 to v11, with sides that may be distributions, and the anchors
// of v2 to v7.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::yolo_tests {

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

}  // namespace dvnn::test::yolo_tests
