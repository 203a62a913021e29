// SPDX-License-Identifier: Apache-2.0
#include "regions/alignment.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/format.h"
#include "base/numbers.h"

namespace dvnn::regions {
namespace {

constexpr size_t kMostPlaces = 478;

}  // namespace

Result<std::vector<Place>> parse_places(const std::string& text) {
  std::vector<Place> places;
  std::string_view rest = text;
  const auto take = [&](char sign) {
    const bool there = !rest.empty() && rest.front() == sign;
    if (there) rest.remove_prefix(1);
    return there;
  };
  while (!rest.empty()) {
    double x = 0, y = 0;
    const bool good = take_real(&rest, &x) && take(',') && take_real(&rest, &y) &&
                      std::abs(x) <= 4 && std::abs(y) <= 4;
    if (!good || places.size() == kMostPlaces) {
      return invalid_argument(
          "'" + short_text(text, 80) +
          "' is no list of places in fractions of the tensor, such as \"0.3,0.4 0.7,0.4\"");
    }
    places.emplace_back(x, y);
    take(';');  // optional: spaces separate pairs, too
  }
  if (places.size() >= 2) return places;
  return invalid_argument("two places are needed at least");
}

// Source: insightface, utils/face_align.py, arcface_dst, of 112 x 112 pixels.
const std::vector<Place>& face_places() {
  static const std::vector<Place> places = {{38.2946 / 112, 51.6963 / 112},
                                            {73.5318 / 112, 51.5014 / 112},
                                            {56.0252 / 112, 71.7366 / 112},
                                            {41.5493 / 112, 92.3655 / 112},
                                            {70.7299 / 112, 92.2041 / 112}};
  return places;
}

// Umeyama's solution in the plane, where a similarity is a complex number and a shift:
// to = (a + ib) from + shift.
std::optional<image::Slant> align_points(Span<const Place> points, Span<const Place> places,
                                         double aspect) {
  struct Pair {
    double x, y, u, v;
  };
  std::vector<Pair> pairs;
  Pair mean = {0, 0, 0, 0};
  for (size_t i = 0; i < std::min(points.size(), places.size()); ++i) {
    const auto [x, y] = points[i];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    pairs.push_back({x, y, places[i].first, places[i].second * aspect});
    mean.x += x, mean.y += y, mean.u += pairs.back().u, mean.v += pairs.back().v;
  }
  if (pairs.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(pairs.size());
  mean.x /= count, mean.y /= count, mean.u /= count, mean.v /= count;
  double along = 0, across = 0, size = 0;
  for (const Pair& p : pairs) {
    const double x = p.x - mean.x, y = p.y - mean.y, u = p.u - mean.u, v = p.v - mean.v;
    along += x * u + y * v;
    across += x * v - y * u;
    size += x * x + y * y;
  }
  const double a = along / size, b = across / size, squares = a * a + b * b;
  if (!(squares > 1e-18) || !std::isfinite(squares)) return std::nullopt;
  const auto back = [&](double u, double v) {
    const double du = u - mean.u, dv = v - mean.v;
    return Place((a * du + b * dv) / squares + mean.x, (a * dv - b * du) / squares + mean.y);
  };
  const Place origin = back(0, 0), right = back(1, 0), down = back(0, aspect);
  return image::Slant{origin.first, origin.second, right.first,
                      right.second, down.first,    down.second};
}

image::Slant align_corners(Span<const Place> corners, double margin) {
  const auto [x0, y0] = corners[0];
  const double rx = corners[1].first - x0, ry = corners[1].second - y0;
  const double dx = corners[3].first - x0, dy = corners[3].second - y0;
  const double x = x0 - margin * (rx + dx), y = y0 - margin * (ry + dy), grown = 1 + 2 * margin;
  return {x, y, x + grown * rx, y + grown * ry, x + grown * dx, y + grown * dy};
}

image::Corners widened(const image::Corners& box, double aspect) {
  const double width = std::max(box.x1 - box.x0, (box.y1 - box.y0) / aspect);
  const double x = (box.x0 + box.x1) / 2, y = (box.y0 + box.y1) / 2;
  return {x - width / 2, y - width * aspect / 2, x + width / 2, y + width * aspect / 2};
}

image::Slant shares_of(const image::Slant& pixels, const image::Corners& visible) {
  const double width = visible.x1 - visible.x0, height = visible.y1 - visible.y0;
  const auto x = [&](double pixel) { return (pixel - visible.x0) / width; };
  const auto y = [&](double pixel) { return (pixel - visible.y0) / height; };
  return {x(pixels.x0), y(pixels.y0), x(pixels.x1), y(pixels.y1), x(pixels.x2), y(pixels.y2)};
}

}  // namespace dvnn::regions
