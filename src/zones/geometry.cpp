// SPDX-License-Identifier: Apache-2.0
#include "zones/geometry.h"

#include <algorithm>
#include <cmath>

namespace dvnn::zones {

int64_t turn(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

int sign(int64_t value) {
  return (value > 0) - (value < 0);
}

namespace {

// Returns the side of the moved edge on which the point is: 1 right, -1 left.
int side_of_edge(const Point& a, const Point& b, const Point& point) {
  const int exact = sign(turn(a, b, point));
  if (exact != 0) return exact;
  // Moving the edge by (e, e^2) equals moving the point back: -(b - a) x (e, e^2).
  return b.y != a.y ? (b.y > a.y ? 1 : -1) : (b.x > a.x ? -1 : 1);
}

// Returns the side of the path on which the moved corner is.
int side_of_way(const Point& from, const Point& to, const Point& corner) {
  const int exact = sign(turn(from, to, corner));
  if (exact != 0) return exact;
  return to.y != from.y ? (to.y > from.y ? -1 : 1) : (to.x > from.x ? 1 : -1);
}

}  // namespace

Point place(double x, double y) {
  const auto whole = [](double v) {
    constexpr double kMost = kFarthest;
    return std::isnan(v)
               ? int64_t{0}
               : static_cast<int64_t>(std::llround(std::clamp(v, -kMost, kMost) * kUnits));
  };
  return {whole(x), whole(y)};
}

bool crosses(const Point& from, const Point& to, const Point& a, const Point& b,
             Crossing* crossing) {
  if (from == to || a == b) return false;
  const int before = side_of_edge(a, b, from), after = side_of_edge(a, b, to);
  if (before == after || side_of_way(from, to, a) == side_of_way(from, to, b)) return false;
  const double start = static_cast<double>(turn(a, b, from)),
               end = static_cast<double>(turn(a, b, to));
  crossing->at = start == end ? 0 : std::clamp(start / (start - end), 0.0, 1.0);
  crossing->direction = after;
  return true;
}

// Counts the edges that a path from the point to the far left crosses.
bool contains(const std::vector<Point>& polygon, const Point& point) {
  const Point far = {-2 * kFarthest * static_cast<int64_t>(kUnits), point.y};
  bool inside = false;
  Crossing crossing;
  for (size_t i = 0, last = polygon.size() - 1; i < polygon.size(); last = i++) {
    inside ^= crosses(point, far, polygon[last], polygon[i], &crossing);
  }
  return inside;
}

double distance(const Point& a, const Point& b, const Point& point) {
  const double dx = static_cast<double>(b.x - a.x), dy = static_cast<double>(b.y - a.y);
  const double px = static_cast<double>(point.x - a.x), py = static_cast<double>(point.y - a.y);
  const double length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(px - t * dx, py - t * dy) / kUnits;
}

bool lies_on(const Point& a, const Point& b, const Point& point) {
  return turn(a, b, point) == 0 && std::min(a.x, b.x) <= point.x && point.x <= std::max(a.x, b.x) &&
         std::min(a.y, b.y) <= point.y && point.y <= std::max(a.y, b.y);
}

bool is_simple(const std::vector<Point>& polygon) {
  const size_t count = polygon.size();
  for (size_t i = 0; i < count; ++i) {
    const Point &a = polygon[i], &b = polygon[(i + 1) % count];
    if (a == b) return false;
    for (size_t k = i + 1; k < count; ++k) {
      const Point &c = polygon[k], &d = polygon[(k + 1) % count];
      const bool next = k == i + 1, before = (k + 1) % count == i;
      // Neighbours share a corner, but must not overlap.
      if (next && lies_on(a, b, d)) return false;
      if (next && lies_on(c, d, a)) return false;
      if (before && lies_on(a, b, c)) return false;
      if (before && lies_on(c, d, b)) return false;
      if (next || before) continue;
      if (lies_on(a, b, c) || lies_on(a, b, d) || lies_on(c, d, a) || lies_on(c, d, b)) {
        return false;
      }
      if (sign(turn(a, b, c)) != sign(turn(a, b, d)) &&
          sign(turn(c, d, a)) != sign(turn(c, d, b))) {
        return false;
      }
    }
  }
  return true;
}

namespace {

// Twice the area, above 0 if the corners are in the order in which x turns to y.
double twice_area(const std::vector<Corner>& polygon) {
  double twice = 0;
  for (size_t i = 0, last = polygon.size() - 1; i < polygon.size(); last = i++) {
    twice += polygon[last].x * polygon[i].y - polygon[i].x * polygon[last].y;
  }
  return twice;
}

}  // namespace

double area_of(const std::vector<Corner>& polygon) {
  return std::fabs(twice_area(polygon)) / 2;
}

// Clips the polygon to the convex one (Sutherland-Hodgman). Edges that the clipping adds along a
// side go there and back, so they add nothing to the area.
double common_area(const std::vector<Corner>& polygon, const std::vector<Corner>& convex) {
  const double order = twice_area(convex) < 0 ? -1 : 1;
  std::vector<Corner> now = polygon, next;
  for (size_t cut = 0, before = convex.size() - 1; cut < convex.size() && !now.empty();
       before = cut++) {
    const Corner &a = convex[before], &b = convex[cut];
    // How far a corner is on the inner side of the edge, in lengths of the edge.
    const auto depth = [&](const Corner& c) {
      return order * ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
    };
    next.clear();
    for (size_t i = 0, last = now.size() - 1; i < now.size(); last = i++) {
      const double p = depth(now[last]), q = depth(now[i]);
      if ((p >= 0) != (q >= 0)) {
        const double t = p / (p - q);
        next.push_back({now[last].x + t * (now[i].x - now[last].x),
                        now[last].y + t * (now[i].y - now[last].y)});
      }
      if (q >= 0) next.push_back(now[i]);
    }
    now.swap(next);
  }
  return now.empty() ? 0 : area_of(now);
}

double share_inside(const std::vector<Point>& polygon, const image::Corners& box) {
  const double whole = (box.x1 - box.x0) * (box.y1 - box.y0);
  if (!(whole > 0)) return 0;
  return std::min(1.0, common_area(corners_of(polygon), corners_of(box)) / whole);
}

std::vector<Corner> corners_of(const std::vector<Point>& polygon) {
  std::vector<Corner> corners;
  for (const Point& p : polygon) {
    corners.push_back({static_cast<double>(p.x) / kUnits, static_cast<double>(p.y) / kUnits});
  }
  return corners;
}

std::vector<Corner> corners_of(const image::Corners& box) {
  return {{box.x0, box.y0}, {box.x1, box.y0}, {box.x1, box.y1}, {box.x0, box.y1}};
}

}  // namespace dvnn::zones
