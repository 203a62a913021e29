// SPDX-License-Identifier: Apache-2.0
// Anchor-free grids whose boxes are distances, as of NanoDet; test_yolo.cpp has YOLO's.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "grid_outputs.h"

using namespace dvnn;
using namespace dvnn::test;
using json = dvnn::Json;

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

DVNN_TESTS(grid, distances_reach_from_the_cells_centre)
