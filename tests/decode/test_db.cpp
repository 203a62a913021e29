// SPDX-License-Identifier: Apache-2.0
// Probability maps become regions of text.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::db_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(regions_of_text_are_turned_rectangles) {
  // A bar of 20 x 4 cells, and one along a diagonal, in 64 x 32 cells.
  std::vector<float> map(64 * 32, 0.0f);
  for (int y = 10; y < 15; ++y) {
    for (int x = 5; x < 26; ++x) map[static_cast<size_t>(y * 64 + x)] = 0.8f;
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 6; ++j) map[static_cast<size_t>((2 + i + j) * 64 + 40 + i - j)] = 0.9f;
    for (int j = 0; j < 5; ++j) map[static_cast<size_t>((3 + i + j) * 64 + 40 + i - j)] = 0.9f;
  }
  const auto found = Outputs()
                         .add("o", {1, 1, 32, 64}, map, ElementType::kFloat16, Layout::kWhc8)
                         .found("db", {{"unclip", 0}}, 0.6f);
  ck_assert_uint_eq(found.size(), 2);
  assert_box(found[1], 5 / 64.0, 10 / 32.0, 25 / 64.0, 14 / 32.0);
  ck_assert_uint_eq(found[1].outline.size(), 4);
  ck_assert_double_eq_tol(found[1].outline[2].x, 25 / 64.0, 1e-6);
  ck_assert_float_eq_tol(found[1].confidence, 0.8f, 1e-3f);
  // The diagonal's longer sides run from the upper left to the lower right.
  const auto& corners = found[0].outline;
  const double along_x = (corners[1].x - corners[0].x) * 64,
               along_y = (corners[1].y - corners[0].y) * 32;
  const double across_x = (corners[2].x - corners[1].x) * 64;
  ck_assert_double_eq_tol(std::abs(along_x), std::abs(along_y), 1e-3);
  ck_assert_double_eq_tol(std::max(std::abs(along_x), std::abs(across_x)), 15.5, 1.0);
  // Grown by area * ratio / circumference on every side: 80 * 1.5 / 48.
  const auto grown = Outputs().add("o", {1, 1, 32, 64}, map).found("db", {{"unclip", 1.5}}, 0.6f);
  assert_box(grown[1], (5 - 2.5) / 64, (10 - 2.5) / 32, (25 + 2.5) / 64, (14 + 2.5) / 32);
}

}  // namespace dvnn::test::db_tests
