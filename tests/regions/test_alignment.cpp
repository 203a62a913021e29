// SPDX-License-Identifier: Apache-2.0
#include "regions/alignment.h"

#include <clocale>
#include <cmath>
#include <limits>
#include <random>

#include "check_suite.h"

namespace dvnn::test::alignment_tests {

DVNN_SUITE(regions_alignment);

using namespace dvnn::regions;

namespace {

// Returns where the tensor's place (u, v), in fractions, is in the frame.
Place shown(const image::Slant& s, double u, double v) {
  return {s.x0 + u * (s.x1 - s.x0) + v * (s.x2 - s.x0),
          s.y0 + u * (s.y1 - s.y0) + v * (s.y2 - s.y0)};
}

void expect_place(const Place& have, double x, double y, double tolerance = 1e-9) {
  ck_assert_double_eq_tol(have.first, x, tolerance);
  ck_assert_double_eq_tol(have.second, y, tolerance);
}

}  // namespace

DVNN_TEST(points_that_are_similar_come_to_their_places) {
  std::mt19937 random(dvnn_seed(3));
  std::uniform_real_distribution<double> any(-1, 1);
  for (int round = 0; round < 200; ++round) {
    const double angle = 3.1 * any(random), scale = 100 + 90 * any(random);
    const double x = 500 * any(random), y = 500 * any(random), aspect = 1 + 0.5 * any(random);
    std::vector<Place> points;
    for (const auto& [u, v] : face_places()) {
      const double w = v * aspect;
      points.emplace_back(x + scale * (u * std::cos(angle) - w * std::sin(angle)),
                          y + scale * (u * std::sin(angle) + w * std::cos(angle)));
    }
    const auto slant = align_points(points, face_places(), aspect);
    ck_assert(slant.has_value());
    for (size_t i = 0; i < points.size(); ++i) {
      const auto& [u, v] = face_places()[i];
      expect_place(shown(*slant, u, v), points[i].first, points[i].second, 1e-6);
    }
    // It is as wide and as high as the tensor.
    const double wide = std::hypot(slant->x1 - slant->x0, slant->y1 - slant->y0);
    const double high = std::hypot(slant->x2 - slant->x0, slant->y2 - slant->y0);
    ck_assert_double_eq_tol(wide, scale, 1e-6);
    ck_assert_double_eq_tol(high, scale * aspect, 1e-6);
  }
}

DVNN_TEST(points_that_are_not_similar_come_as_near_as_they_can) {
  // The numbers are skimage.transform.SimilarityTransform's on these points and ArcFace's.
  const std::vector<Place> points = {{100, 120}, {160, 110}, {140, 150}, {112, 180}, {165, 172}};
  const auto slant = align_points(points, face_places(), 1);
  const double scale = std::hypot(slant->x1 - slant->x0, slant->y1 - slant->y0);
  // No small turn, growth or shift lowers the sum of squares in the tensor.
  const auto error = [&](const image::Slant& s) {
    double sum = 0;
    const double rx = s.x1 - s.x0, ry = s.y1 - s.y0, squares = rx * rx + ry * ry;
    for (size_t i = 0; i < points.size(); ++i) {
      const double x = points[i].first - s.x0, y = points[i].second - s.y0;
      const double u = (x * rx + y * ry) / squares, v = (y * rx - x * ry) / squares;
      sum += std::pow(u - face_places()[i].first, 2) + std::pow(v - face_places()[i].second, 2);
    }
    return sum;
  };
  const double best = error(*slant);
  for (const double step : {-0.01, 0.01}) {
    for (int which = 0; which < 4; ++which) {
      image::Slant s = *slant;
      const double rx = s.x1 - s.x0, ry = s.y1 - s.y0, d = step * scale;
      if (which == 0) s.x0 += d, s.x1 += d, s.x2 += d;
      if (which == 1) s.y0 += d, s.y1 += d, s.y2 += d;
      if (which == 2) s.x1 = s.x0 + rx * (1 + step), s.y1 = s.y0 + ry * (1 + step);
      if (which == 3) s.x1 = s.x0 + rx - ry * step, s.y1 = s.y0 + ry + rx * step;
      ck_assert_double_gt(error(s), best);
    }
  }
}

DVNN_TEST(points_without_numbers_are_left_out) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Place> places = {{0, 0}, {1, 0}, {0.5, 0.5}};
  const std::vector<Place> two = {{10, 10}, {30, 10}, {nan, 4}}, one = {{10, 10}, {nan, 0}};
  const auto slant = align_points(two, places, 1);
  expect_place(shown(*slant, 1, 1), 30, 30);
  ck_assert(!align_points(one, places, 1));
  const std::vector<Place> same = {{10, 10}, {10, 10}, {10, 10}};
  ck_assert(!align_points(same, places, 1));
}

DVNN_TEST(an_oriented_box_grows_by_its_margin) {
  // Turned by a quarter: its upper edge is on the right.
  const std::vector<Place> corners = {{50, 10}, {50, 50}, {30, 50}, {30, 10}};
  const image::Slant slant = align_corners(corners, 0.5);
  expect_place(shown(slant, 0, 0), 60, -10);
  expect_place(shown(slant, 1, 0), 60, 70);
  expect_place(shown(slant, 0, 1), 20, -10);
  expect_place(shown(slant, 0.5, 0.5), 40, 30);
  const image::Slant part = shares_of(slant, {20, 0, 60, 100});
  expect_place(shown(part, 0.5, 0.5), 0.5, 0.3);
}

DVNN_TEST(a_box_is_widened_to_an_aspect) {
  const image::Corners square = widened({10, 20, 20, 60}, 1);
  ck_assert_double_eq(square.x0, -5);
  ck_assert_double_eq(square.x1, 35);
  ck_assert_double_eq(square.y0, 20);
  ck_assert_double_eq(square.y1, 60);
  const image::Corners high = widened({10, 20, 20, 30}, 2);
  ck_assert_double_eq(high.x0, 10);
  ck_assert_double_eq(high.y0, 15);
  ck_assert_double_eq(high.y1, 35);
}

DVNN_TEST(places_are_read) {
  const auto places = parse_places("0.25,0.5 0.75,0.5; 0.5,1");
  ck_assert(places.ok());
  ck_assert_uint_eq(places.value().size(), 3);
  expect_place(places.value()[2], 0.5, 1);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8")) {  // a point is a point there, too
    const auto same = parse_places("0.25,0.5 0.75,0.5");
    std::setlocale(LC_NUMERIC, "C");
    ck_assert(same.ok());
    expect_place(same.value()[0], 0.25, 0.5);
  }
  for (const char* wrong :
       {"", "0.5,0.5", "a,b c,d", "0.5 0.5", "0.5,0.5 0.7", "0,0 nan,1", "0,0 1,99"}) {
    ck_assert_msg(!parse_places(wrong).ok(), "%s", wrong);
  }
}

}  // namespace dvnn::test::alignment_tests
