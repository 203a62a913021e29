// SPDX-License-Identifier: Apache-2.0
// Suppression of rotated rectangles by their exact intersection.
#include <cmath>

#include "kernels/boxes/greedy.h"

namespace dvnn::kernels {
namespace {

struct Corner {
  double x, y;
};

// A convex polygon. A rectangle clipped by four lines has eight corners at the most.
struct Polygon {
  Corner corners[16];
  int count = 0;
  void add(const Corner& corner) {
    if (count < 16) corners[count++] = corner;
  }
};

// Returns the corners in order around the rectangle, relative to the centre of `origin`: small
// numbers keep more digits.
Polygon polygon_of(const TurnedBox& box, const TurnedBox& origin) {
  const double c = std::cos(double{box.angle}), s = std::sin(double{box.angle});
  const double w = double{box.width} / 2, h = double{box.height} / 2;
  const double x = double{box.x} - double{origin.x}, y = double{box.y} - double{origin.y};
  constexpr int kSigns[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  Polygon polygon;
  for (const auto& sign : kSigns) {
    const double u = sign[0] * w, v = sign[1] * h;
    polygon.add({x + u * c - v * s, y + u * s + v * c});
  }
  return polygon;
}

double area_of_polygon(const Polygon& polygon) {
  double twice = 0;
  for (int i = 0; i < polygon.count; ++i) {
    const Corner &a = polygon.corners[i], &b = polygon.corners[(i + 1) % polygon.count];
    twice += a.x * b.y - b.x * a.y;
  }
  return twice / 2;
}

// Returns the part of a polygon to the right of the line from `a` to `b`, as y points down. Source:
// Sutherland and Hodgman, "Reentrant polygon clipping" (1974).
Polygon cut(const Polygon& polygon, const Corner& a, const Corner& b) {
  auto side = [&](const Corner& p) {
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
  };
  Polygon left;
  for (int i = 0; i < polygon.count; ++i) {
    const Corner &p = polygon.corners[i], &q = polygon.corners[(i + 1) % polygon.count];
    const double at_p = side(p), at_q = side(q);
    if (at_p >= 0) left.add(p);
    if ((at_p > 0 && at_q < 0) || (at_p < 0 && at_q > 0)) {
      const double t = at_p / (at_p - at_q);
      left.add({p.x + t * (q.x - p.x), p.y + t * (q.y - p.y)});
    }
  }
  return left;
}

// Returns the upright bounds of a rotated rectangle, with room for rounding.
Box box_around(const TurnedBox& box) {
  constexpr float kRoom = 1.0001f;
  const float c = std::abs(std::cos(box.angle)), s = std::abs(std::sin(box.angle));
  const float w = kRoom * (box.width * c + box.height * s) / 2;
  const float h = kRoom * (box.width * s + box.height * c) / 2;
  const float room = 1e-6f * (std::abs(box.x) + std::abs(box.y));
  return {box.x - w - room, box.y - h - room, box.x + w + room, box.y + h + room};
}

}  // namespace

float turned_overlap(const TurnedBox& a, const TurnedBox& b) {
  if (!(a.width > 0 && a.height > 0 && b.width > 0 && b.height > 0)) return 0;
  Polygon shared = polygon_of(a, a);
  const Polygon other = polygon_of(b, a);
  for (int i = 0; i < other.count && shared.count > 0; ++i) {
    shared = cut(shared, other.corners[i], other.corners[(i + 1) % other.count]);
  }
  const double both = area_of_polygon(shared);
  const double areas = double{a.width} * double{a.height} + double{b.width} * double{b.height};
  // Largest share of the areas that rounding can leave as an intersection of disjoint rectangles.
  constexpr double kNothing = 1e-9;
  if (!(both > kNothing * areas)) return 0;
  return static_cast<float>(both / (areas - both));
}

void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates, KeptBoxes* kept) {
  sort_candidates(options, candidates);
  kept->around.resize(boxes.size());
  for (size_t i = 0; i < boxes.size(); ++i) kept->around[i] = box_around(boxes[i]);
  const Span<const Box> around = kept->around;
  const bool has_grid = may_use_grid(options) && kept->grid.lay(around, *candidates);
  keep_greedily(
      options, candidates,
      [&](size_t index, size_t count, float threshold) {
        auto overlaps = [&](size_t number) {
          const size_t better = (*candidates)[number].place();
          // Boxes whose upright bounds are apart need no closer look.
          const Box &a = around[index], &b = around[better];
          if (threshold >= 0 && (a.x1 < b.x0 || b.x1 < a.x0 || a.y1 < b.y0 || b.y1 < a.y0)) {
            return false;
          }
          return !(turned_overlap(boxes[index], boxes[better]) <= threshold);
        };
        bool many = true;
        if (has_grid) {
          const bool found = kept->grid.visit(
              around[index], count,
              [&](int number) { return overlaps(static_cast<size_t>(number)); }, &many);
          if (!many) return found;
        }
        for (size_t number = 0; number < count; ++number) {
          if (overlaps(number)) return true;
        }
        return false;
      },
      [&](size_t index, size_t number) {
        if (has_grid) kept->grid.add(around[index], static_cast<int>(number));
      });
}

namespace plain {

void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates) {
  keep_by_all_pairs(options, candidates,
                    [&](size_t a, size_t b) { return turned_overlap(boxes[a], boxes[b]); });
}

}  // namespace plain
}  // namespace dvnn::kernels
