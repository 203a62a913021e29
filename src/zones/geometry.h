// SPDX-License-Identifier: Apache-2.0
// Finds where ways cross the edges of areas, exactly: in whole numbers, so that a point on an edge,
// a way through a corner and a way along an edge have one answer, and all questions about them
// agree.
//
// Areas are taken to be moved by an infinitely small step, right and, far less, down. Then nothing
// ever lies on anything: every point is on one side, and a way through a corner crosses one edge.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/object.h"

namespace dvnn::zones {

/// A place in kUnits of a pixel.
struct Point {
  int64_t x = 0, y = 0;
};
inline bool operator==(const Point& a, const Point& b) {
  return a.x == b.x && a.y == b.y;
}

constexpr double kUnits = 1024;
/// The nearest place. Coordinates beyond 2^24 pixels, and those that are no numbers, are cut.
Point place(double x, double y);

__extension__ using Wide = __int128;  // products of coordinates have up to 72 bits

/// Above 0 if c is to the right of the way from a to b, as y is downwards.
Wide turn(const Point& a, const Point& b, const Point& c);
int sign(Wide value);

/// The place where a way crosses an edge.
struct Crossing {
  double at = 0;  // of the way, 0..1
  int direction;  // 1: from the left of the edge to its right, seen along it, y downwards; else -1
};

/// Returns whether the way from `from` to `to` crosses the edge from `a` to `b`.
bool crosses(const Point& from, const Point& to, const Point& a, const Point& b,
             Crossing* crossing);

/// Returns whether a point lies in the polygon: it is in an odd number of its windings.
bool contains(const std::vector<Point>& polygon, const Point& point);

/// The distance to the nearest of the points between `a` and `b`, in pixels.
double distance(const Point& a, const Point& b, const Point& point);

/// Returns whether the point lies exactly between `a` and `b`.
bool lies_on(const Point& a, const Point& b, const Point& point);

/// Returns whether no two edges of the polygon have a point in common, but neighbours their corner.
bool is_simple(const std::vector<Point>& polygon);

/// The part of a box that lies in a simple polygon, 0..1.
double share_inside(const std::vector<Point>& polygon, const image::Corners& box);

}  // namespace dvnn::zones
