// SPDX-License-Identifier: Apache-2.0
#include "evaluate/run_lengths.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "check_suite.h"

namespace dvnn::test::run_lengths_tests {

DVNN_SUITE(run_lengths);

namespace {

using evaluate::RunLengths;
using Polygon = std::vector<double>;

std::vector<bool> pixels_of(const RunLengths& runs) {
  std::vector<bool> pixels;
  for (size_t i = 0; i < runs.counts.size(); ++i)
    pixels.insert(pixels.end(), runs.counts[i], i % 2);
  return pixels;
}

// Whether a place is inside by the number of sides on its right, and how far it is from a side.
bool is_inside(const Polygon& polygon, double x, double y, double* away) {
  bool inside = false;
  *away = 1e9;
  for (size_t i = 0; i < polygon.size(); i += 2) {
    const size_t k = (i + 2) % polygon.size();
    const double ax = polygon[i], ay = polygon[i + 1], bx = polygon[k], by = polygon[k + 1];
    if ((ay > y) != (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)) inside = !inside;
    const double length = std::hypot(bx - ax, by - ay);
    const double along = length > 0 ? ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length : 0;
    const double at = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0;
    *away = std::min(*away, std::hypot(x - ax - at * (bx - ax), y - ay - at * (by - ay)));
  }
  return inside;
}

}  // namespace

DVNN_TEST(rectangles_along_pixels_are_exact) {
  const RunLengths runs = evaluate::fill_polygons({{2, 1, 5, 1, 5, 4, 2, 4}}, 7, 6);
  ck_assert_uint_eq(runs.area(), 9);
  const evaluate::Box box = runs.box();
  ck_assert(box.x == 2 && box.y == 1 && box.width == 3 && box.height == 3);
  // The whole picture, and more than it.
  ck_assert_uint_eq(evaluate::fill_polygons({{0, 0, 7, 0, 7, 6, 0, 6}}, 7, 6).area(), 42);
  ck_assert_uint_eq(evaluate::fill_polygons({{-9, -9, 20, -9, 20, 20, -9, 20}}, 7, 6).area(), 42);
  // What is in both parts counts once.
  const RunLengths two =
      evaluate::fill_polygons({{0, 0, 3, 0, 3, 3, 0, 3}, {2, 2, 5, 2, 5, 5, 2, 5}}, 7, 6);
  ck_assert_uint_eq(two.area(), 17);
  ck_assert_uint_eq(evaluate::fill_polygons({}, 7, 6).area(), 0);
}

DVNN_TEST(pixels_off_a_polygons_sides_are_inside_or_outside) {
  std::mt19937 random(dvnn_seed(21));
  std::uniform_real_distribution<double> place(-6, 46);
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    Polygon polygon;
    for (unsigned corners = 3 + random() % 5; corners > 0; --corners) {
      polygon.push_back(place(random));
      polygon.push_back(place(random));
    }
    const RunLengths runs = evaluate::fill_polygons({polygon}, 40, 38);
    ck_assert(evaluate::check_run_lengths(runs).ok());
    const std::vector<bool> pixels = pixels_of(runs);
    for (int x = 0; x < 40; ++x) {
      for (int y = 0; y < 38; ++y) {
        double away = 0;
        const bool inside = is_inside(polygon, x + 0.5, y + 0.5, &away);
        // Corners are rounded, so a pixel at a side may be on either.
        constexpr double kAtSide = 0.8;
        if (away < kAtSide) continue;
        ck_assert_msg(pixels[static_cast<size_t>(x * 38 + y)] == inside, "round %d: %d, %d", round,
                      x, y);
      }
    }
  }
}

DVNN_TEST(columns_become_runs) {
  std::mt19937 random(dvnn_seed(22));
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    const int width = 1 + static_cast<int>(random() % 9),
              height = 1 + static_cast<int>(random() % 9);
    const int x0 = static_cast<int>(random() % 3), y0 = static_cast<int>(random() % 3);
    const int x1 = std::min(width, x0 + 4), y1 = random() % 2 ? height : std::min(height, y0 + 3);
    std::vector<bool> wanted(static_cast<size_t>(width * height));
    for (int x = std::min(x0, width); x < x1; ++x) {
      for (int y = std::min(y0, height); y < y1; ++y)
        wanted[static_cast<size_t>(x * height + y)] = random() % 3 != 0;
    }
    const auto inside = [&](int x, int y) { return wanted[static_cast<size_t>(x * height + y)]; };
    const RunLengths runs = evaluate::run_lengths_of(width, height, x0, y0, x1, y1, inside);
    ck_assert(pixels_of(runs) == wanted);
    const auto again = evaluate::read_run_lengths(run_lengths_text(runs), width, height);
    ck_assert(again.ok() && again.value().counts == runs.counts);
    // The box around them.
    const evaluate::Box box = runs.box();
    for (int x = 0; x < width; ++x) {
      for (int y = 0; y < height; ++y) {
        if (!inside(x, y)) continue;
        ck_assert(x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
      }
    }
  }
}

DVNN_TEST(cells_become_pixels_where_half_is_reached) {
  objects::Mask mask;
  mask.place = {2, 1, 10, 5};
  mask.width = 2;
  mask.height = 1;
  mask.cells = {0, 255};
  // The right half of the place, which is 8 x 4 pixels.
  const RunLengths half = evaluate::fill_cells(mask, {0, 0, 20, 20}, 12, 8);
  const evaluate::Box box = half.box();
  ck_assert_uint_eq(half.area(), 16);
  ck_assert(box.x == 6 && box.y == 1 && box.width == 4 && box.height == 4);
  // The box cuts it, and so does the picture.
  ck_assert_uint_eq(evaluate::fill_cells(mask, {0, 0, 8, 3}, 12, 8).area(), 4);
  ck_assert_uint_eq(evaluate::fill_cells(mask, {0, 0, 20, 20}, 9, 3).area(), 6);
  // Along a slope, pixels follow it: a quarter of the way from 255 to 0 is inside.
  mask.cells = {255, 64};
  ck_assert_uint_eq(evaluate::fill_cells(mask, {0, 0, 20, 20}, 12, 8).area(), 4 * 5);
}

DVNN_TEST(damaged_runs_are_refused) {
  const RunLengths runs = evaluate::fill_polygons({{2, 1, 5, 1, 5, 4, 2, 4}}, 7, 6);
  const std::string text = run_lengths_text(runs);
  dvnn_assert_text(evaluate::read_run_lengths(text, 7, 5).error().message,
                   "runs of 42 pixels, for a picture of 7 x 5");
  dvnn_assert_text(evaluate::read_run_lengths("no runs", 7, 6).error().message,
                   "'no runs' is no compressed list of runs");
  std::mt19937 random(dvnn_seed(23));
  size_t refused = 0;
  for (int round = 0; round < dvnn_rounds(2000); ++round) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    refused += !evaluate::read_run_lengths(damaged, 7, 6).ok();
  }
  ck_assert_uint_gt(refused, 0);
}

}  // namespace dvnn::test::run_lengths_tests
