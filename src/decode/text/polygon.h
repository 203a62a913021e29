// SPDX-License-Identifier: Apache-2.0
// Polygons of text regions.
#pragma once

#include <array>
#include <vector>

namespace dvnn::decode {

struct Spot {
  float x = 0, y = 0;
};

/// A rectangle that may be turned: its centre, the direction of its first side, its sides' lengths.
struct TurnedRect {
  Spot centre, along = {1, 0};
  float width = 0, height = 0;  // width along `along`
};

/// The convex hull, counter-clockwise in a picture whose y grows downwards. Sorts `spots`.
void find_hull(std::vector<Spot>* spots, std::vector<Spot>* hull);

/// The rectangle of the least area around a convex hull.
TurnedRect least_rectangle(const std::vector<Spot>& hull);

/// Its corners, clockwise in the picture from the one that is the upper left of the text: the first
/// edge is above it, for text that is turned by less than half a right angle or lies on its side.
std::array<Spot, 4> corners_of(const TurnedRect& rect);

}  // namespace dvnn::decode
