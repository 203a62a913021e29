// SPDX-License-Identifier: Apache-2.0
// Anchor-free grids: YOLOX, YOLOv6 and v8 to v11, NanoDet and others.
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "grid_outputs.h"

using namespace dvnn;
using namespace dvnn::test;
using nlohmann::json;

START_TEST(grid_boxes_are_the_same_from_every_order_and_type) {
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
END_TEST

START_TEST(distances_reach_from_the_cells_centre) {
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
END_TEST

START_TEST(sides_are_means_of_distributions) {
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
END_TEST

DVNN_TESTS(grid, grid_boxes_are_the_same_from_every_order_and_type,
           distances_reach_from_the_cells_centre, sides_are_means_of_distributions)
