// SPDX-License-Identifier: Apache-2.0
// Coordinates, heat maps and axes become points.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::keypoints_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

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

}  // namespace dvnn::test::keypoints_tests
