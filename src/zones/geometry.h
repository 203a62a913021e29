// SPDX-License-Identifier: Apache-2.0
// Exact geometry of paths and the edges of areas, in integers: a point on an edge, a path through a
// corner and a path along an edge have one answer, and all functions agree on it.
//
// Areas are regarded as moved by an infinitely small step to the right and a far smaller one down.
// So no point lies on an edge: every point is on one side, and a path through a corner crosses one
// edge.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/object.h"

namespace dvnn::zones {

/// A place in units of 1 / kUnits of a pixel.
struct Point {
  int64_t x = 0, y = 0;
};
inline bool operator==(const Point& a, const Point& b) {
  return a.x == b.x && a.y == b.y;
}

constexpr double kUnits = 1024;
/// Largest coordinate in pixels. Products of differences of coordinates fit into 62 bits.
constexpr int64_t kFarthest = 1 << 19;
/// Returns the nearest place to (x, y) in pixels. Coordinates are clamped to +-kFarthest; NaN
/// counts as 0.
Point place(double x, double y);

/// Returns a cross product: above 0 if c is right of the path from a to b, with y downwards.
int64_t turn(const Point& a, const Point& b, const Point& c);
int sign(int64_t value);

/// Where a path crosses an edge.
struct Crossing {
  double at = 0;  // on the path, 0..1
  int direction;  // 1: from the edge's left to its right, seen along it with y downwards; -1: back
};

/// Returns whether the path from `from` to `to` crosses the edge from `a` to `b`.
bool crosses(const Point& from, const Point& to, const Point& a, const Point& b,
             Crossing* crossing);

/// Returns whether a point is in the polygon, by the even-odd rule.
bool contains(const std::vector<Point>& polygon, const Point& point);

/// Returns the distance from `point` to the segment from `a` to `b`, in pixels.
double distance(const Point& a, const Point& b, const Point& point);

/// Returns whether the point lies exactly on the segment from `a` to `b`.
bool lies_on(const Point& a, const Point& b, const Point& point);

/// Returns whether edges of the polygon have no points in common except the corners of neighbours.
bool is_simple(const std::vector<Point>& polygon);

/// Returns the share of a box that is inside a simple polygon, 0..1.
double share_inside(const std::vector<Point>& polygon, const image::Corners& box);

/// A corner in any unit.
struct Corner {
  double x = 0, y = 0;
};
/// Returns corners in pixels.
std::vector<Corner> corners_of(const std::vector<Point>& polygon);
std::vector<Corner> corners_of(const image::Corners& box);
/// Returns the area that a simple polygon has, and that it has in common with a convex one; their
/// corners may be in either order.
double area_of(const std::vector<Corner>& polygon);
double common_area(const std::vector<Corner>& polygon, const std::vector<Corner>& convex);

}  // namespace dvnn::zones
