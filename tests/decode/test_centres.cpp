// SPDX-License-Identifier: Apache-2.0
// Peaks of heat maps: CenterNet.
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::centres_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(peaks_of_heat_maps_are_centres) {
  std::vector<float> heat(8, 0.0f), sizes(16, 1.0f), offsets(16, 0.5f);
  heat[4] = 0.6f;  // beside the peak
  heat[5] = 0.9f;
  sizes[5] = 2;
  const json params = {{"image", {32, 16}}, {"stride", 8}, {"num_classes", 1}};
  const auto found = Outputs()
                         .add("hm", {1, 1, 2, 4}, heat)
                         .add("wh", {1, 2, 2, 4}, sizes)
                         .add("off", {1, 2, 2, 4}, offsets)
                         .found("heatmap-centres", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 4 / 32.0, 8 / 16.0, 20 / 32.0, 16 / 16.0);
}

// From the cell's corner, in cells, or as parts of the box; x first or y first.
DVNN_TEST(points_are_of_the_cell_or_of_the_box) {
  std::vector<float> heat(8, 0.0f), sizes(16, 1.0f), offsets(16, 0.5f), points(16, 0.0f);
  heat[5] = 0.9f;                        // column 1, row 1
  points[5] = 0.25f, points[8 + 5] = 1;  // two numbers
  const struct {
    const char* rule;
    double x, y;  // in pixels
  } cases[] = {{"", 10, 16}, {"points_in_box", 8, 16}, {"rows_first", 16, 10}};
  sizes[5] = 2;  // so that the box and the cell differ
  for (const auto& c : cases) {
    json params = {{"image", {32, 16}},
                   {"stride", 8},
                   {"num_classes", 1},
                   {"point_count", 1},
                   {"parts", {"boxes", "offsets", "scores", "points"}}};
    if (*c.rule) params[c.rule] = true;
    const auto found = Outputs()
                           .add("wh", {1, 2, 2, 4}, sizes)
                           .add("off", {1, 2, 2, 4}, offsets)
                           .add("hm", {1, 1, 2, 4}, heat)
                           .add("points", {1, 2, 2, 4}, points)
                           .found("heatmap-centres", params, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_uint_eq(found[0].points.size(), 1);
    ck_assert_double_eq_tol(found[0].points[0].x, c.x / 32, 1e-6);
    ck_assert_double_eq_tol(found[0].points[0].y, c.y / 16, 1e-6);
  }
}

}  // namespace dvnn::test::centres_tests
