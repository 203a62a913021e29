// SPDX-License-Identifier: Apache-2.0
// Anchor-free grids whose boxes are distances, as of NanoDet; test_yolo.cpp has YOLO's.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "grid_outputs.h"

namespace dvnn::test::grid_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

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

}  // namespace dvnn::test::grid_tests
