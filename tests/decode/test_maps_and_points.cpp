// SPDX-License-Identifier: Apache-2.0
// Maps of classes become masks; coordinates, heat maps and axes become points, and peaks centres of
// objects.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::maps_and_points_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

static std::vector<int> cells_of(const objects::Objects& found) {
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].kind == objects::Kind::kSegmentation);
  return {found[0].mask.cells.begin(), found[0].mask.cells.end()};
}

DVNN_TEST(maps_have_the_largest_class_of_each_cell_in_every_order) {
  // Nine classes in 3 x 2 cells: a chunk of the device's layouts and one more.
  std::vector<float> planes(54, 0.0f), pixels(54);
  const std::vector<int> wanted = {8, 0, 3, 7, 1, 8};
  for (size_t i = 0; i < 6; ++i) {
    planes[static_cast<size_t>(wanted[i]) * 6 + i] = 1;
    for (size_t c = 0; c < 9; ++c) pixels[i * 9 + c] = planes[c * 6 + i];
  }
  planes[4 * 6] = NAN;
  for (const Layout layout :
       {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
    const auto found = Outputs()
                           .add("o", {1, 9, 2, 3}, planes, ElementType::kFloat16, layout)
                           .found("segmentation", {{"channels", "first"}}, 0.99f);
    ck_assert(cells_of(found) == wanted);
    ck_assert_int_eq(found[0].mask.width, 3);
  }
  const auto last =
      Outputs().add("o", {1, 2, 3, 9}, pixels).found("segmentation", {{"channels", "last"}}, 0.5f);
  ck_assert(cells_of(last) == wanted);
}

DVNN_TEST(one_number_says_what_is_foreground) {
  const std::vector<float> values = {-1, 0, 0.4f, 0.5f, 2, NAN};
  auto cells = [&](const json& params) {
    return cells_of(Outputs().add("o", {1, 1, 2, 3}, values).found("segmentation", params, 0.5f));
  };
  ck_assert((cells(json::object()) == std::vector<int>{0, 0, 0, 1, 1, 0}));
  ck_assert((cells({{"score", "sigmoid"}}) == std::vector<int>{0, 1, 1, 1, 1, 0}));
  ck_assert((cells({{"indices", true}}) == std::vector<int>{0, 0, 0, 0, 2, 0}));
}

DVNN_TEST(coordinates_are_points_of_the_whole_input) {
  Outputs outputs;
  outputs.add("p", {1, 6}, {8, 4, 0, 16, NAN, 1}).add("sure", {1, 1}, {std::log(4.0f)});
  const json params = {{"unit", "pixels"}, {"image", {32, 16}},  {"point_size", 3},
                       {"output", "p"},    {"score", "sigmoid"}, {"score_output", "sure"}};
  const auto found = outputs.found("keypoints", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].kind == objects::Kind::kAttributes);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
  ck_assert_uint_eq(found[0].points.size(), 2);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.25, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 0.25, 1e-6);
  ck_assert(found[0].points[0].confidence == 1 && found[0].points[1].confidence == 0);
  ck_assert_uint_eq(outputs.found("keypoints", params, 0.9f).size(), 0);
}

DVNN_TEST(heat_maps_are_points_a_quarter_of_a_cell_on) {
  std::vector<float> maps(24, 0.0f);
  maps[5] = 0.9f;   // column 1, row 1 of 4 x 3 cells
  maps[6] = 0.5f;   // and more of it to the right
  maps[12] = 0.7f;  // in the corner, which has no neighbours on both sides
  const auto found =
      Outputs().add("o", {1, 2, 3, 4}, maps).found("keypoints", {{"form", "heatmaps"}}, 0);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_double_eq_tol(found[0].points[0].x, 1.75 / 4, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 1.5 / 3, 1e-6);
  ck_assert_double_eq_tol(found[0].points[1].x, 0.5 / 4, 1e-6);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
}

DVNN_TEST(a_line_for_each_axis_gives_a_point) {
  const auto found = Outputs()
                         .add("x", {1, 2, 4}, {0, 0, 0.9f, 0, 0.5f, 0, 0, 0})
                         .add("y", {1, 2, 2}, {0, 0.7f, 0.6f, 0})
                         .found("keypoints", {{"form", "simcc"}}, 0);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.5, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 0.5, 1e-6);
  ck_assert_float_eq_tol(found[0].points[0].confidence, 0.7f, 1e-6f);
  ck_assert_float_eq_tol(found[0].points[1].confidence, 0.5f, 1e-6f);
}

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

}  // namespace dvnn::test::maps_and_points_tests
