// SPDX-License-Identifier: Apache-2.0
#include "zones/geometry.h"

#include <cmath>
#include <limits>
#include <random>

#include "check_suite.h"

namespace dvnn::test::geometry_tests {

DVNN_SUITE(zones_geometry);

using namespace dvnn::zones;

namespace {

// A star-shaped polygon on a coarse lattice, on which points often lie on edges and corners.
std::vector<Point> random_polygon(std::mt19937* random) {
  while (true) {
    std::vector<Point> polygon;
    const size_t corners = 3 + (*random)() % 5;
    for (size_t i = 0; i < corners; ++i) {
      const double angle = 6.283 * (static_cast<double>(i) + 0.01) / static_cast<double>(corners);
      const double radius = 2 + (*random)() % 5;
      polygon.push_back(
          {std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))});
    }
    if (is_simple(polygon)) return polygon;
  }
}

Point random_point(std::mt19937* random) {
  return {static_cast<int64_t>((*random)() % 17) - 8, static_cast<int64_t>((*random)() % 17) - 8};
}

int crossings_of(const std::vector<Point>& polygon, const Point& from, const Point& to) {
  int count = 0;
  Crossing crossing;
  for (size_t i = 0, last = polygon.size() - 1; i < polygon.size(); last = i++) {
    count += crosses(from, to, polygon[last], polygon[i], &crossing);
  }
  return count;
}

}  // namespace

DVNN_TEST(ways_and_places_agree) {
  std::mt19937 random(dvnn_seed(1));
  for (int round = 0; round < dvnn_rounds(20000); ++round) {
    const std::vector<Point> polygon = random_polygon(&random);
    const Point from = random_point(&random), to = random_point(&random);
    const bool changes = contains(polygon, from) != contains(polygon, to);
    ck_assert_int_eq(crossings_of(polygon, from, to) % 2, changes);
    // A stop on the way changes nothing.
    const Point stop = random_point(&random);
    ck_assert_int_eq((crossings_of(polygon, from, stop) + crossings_of(polygon, stop, to)) % 2,
                     changes);
  }
}

DVNN_TEST(every_point_is_in_one_of_two_neighbours) {
  // A square that is cut in two, on whose cut and borders points lie.
  const std::vector<Point> left = {{-4, -4}, {0, -4}, {2, 4}, {-4, 4}};
  const std::vector<Point> right = {{0, -4}, {4, -4}, {4, 4}, {2, 4}};
  const std::vector<Point> whole = {{-4, -4}, {4, -4}, {4, 4}, {-4, 4}};
  int inside = 0;
  for (int64_t x = -5; x <= 5; ++x) {
    for (int64_t y = -5; y <= 5; ++y) {
      ck_assert_int_eq(contains(left, {x, y}) + contains(right, {x, y}), contains(whole, {x, y}));
      inside += contains(whole, {x, y});
    }
  }
  ck_assert_int_eq(inside, 64);  // of 81 with all borders, 49 without
}

DVNN_TEST(directions_are_those_of_the_edge) {
  Crossing crossing;
  // An edge upwards, y being downwards: its right is where x grows.
  ck_assert(crosses({-1, 0}, {3, 0}, {0, 5}, {0, -5}, &crossing));
  ck_assert_int_eq(crossing.direction, 1);
  ck_assert_double_eq_tol(crossing.at, 0.25, 1e-12);
  ck_assert(crosses({3, 0}, {-1, 0}, {0, 5}, {0, -5}, &crossing));
  ck_assert_int_eq(crossing.direction, -1);
  ck_assert(!crosses({-1, 6}, {3, 6}, {0, 5}, {0, -5}, &crossing));
}

DVNN_TEST(shares_of_boxes_are_areas) {
  const auto at = [](double x, double y) { return place(x, y); };
  const std::vector<Point> square = {at(0, 0), at(10, 0), at(10, 10), at(0, 10)};
  ck_assert_double_eq_tol(share_inside(square, {2, 2, 4, 4}), 1, 1e-12);
  ck_assert_double_eq_tol(share_inside(square, {5, 5, 15, 15}), 0.25, 1e-12);
  ck_assert_double_eq_tol(share_inside(square, {20, 20, 30, 30}), 0, 1e-12);
  ck_assert_double_eq_tol(share_inside(square, {-10, -10, 20, 20}), 1.0 / 9, 1e-12);
  // A U, whose legs the box touches and whose gap it covers.
  const std::vector<Point> u = {at(0, 0), at(2, 0),  at(2, 8),   at(8, 8),
                                at(8, 0), at(10, 0), at(10, 10), at(0, 10)};
  ck_assert_double_eq_tol(share_inside(u, {0, 0, 10, 4}), 0.4, 1e-12);
}

DVNN_TEST(polygons_that_cross_themselves_are_known) {
  ck_assert(is_simple({{0, 0}, {10, 0}, {10, 10}, {0, 10}}));
  ck_assert(is_simple({{0, 0}, {10, 0}, {5, 3}}));
  ck_assert(!is_simple({{0, 0}, {10, 10}, {10, 0}, {0, 10}}));          // a bow tie
  ck_assert(!is_simple({{0, 0}, {10, 0}, {10, 0}, {0, 10}}));           // a corner twice
  ck_assert(!is_simple({{0, 0}, {10, 0}, {5, 0}, {5, 10}}));            // back along an edge
  ck_assert(!is_simple({{0, 0}, {10, 0}, {10, 10}, {5, 0}, {0, 10}}));  // a corner on an edge
  ck_assert(!is_simple({{0, 0}, {10, 0}, {20, 0}}));                    // no area
}

DVNN_TEST(places_have_bounds) {
  const double inf = std::numeric_limits<double>::infinity();
  ck_assert(place(std::nan(""), 1) == (Point{0, 1024}));
  ck_assert(place(inf, -inf) == (Point{int64_t{1} << 29, -(int64_t{1} << 29)}));
}

}  // namespace dvnn::test::geometry_tests
