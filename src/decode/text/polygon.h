// SPDX-License-Identifier: Apache-2.0
// Polygons of text regions.
#pragma once

#include <array>
#include <vector>

namespace dvnn::decode {

struct Spot {
  float x = 0, y = 0;
};

/// A rotated rectangle: its centre, the direction of its first side, and its sides' lengths.
struct TurnedRect {
  Spot centre, along = {1, 0};
  float width = 0, height = 0;  // width along `along`
};

/// Finds the convex hull, counter-clockwise in a picture with y downwards. Sorts `spots`.
void find_hull(std::vector<Spot>* spots, std::vector<Spot>* hull);

/// Returns the rectangle of the smallest area around a convex hull.
TurnedRect least_rectangle(const std::vector<Spot>& hull);

/// Returns the corners, clockwise in the picture from the text's upper left one, so the first edge
/// is above the text. Text is taken to be rotated by less than 45 degrees, or to lie on its side.
std::array<Spot, 4> corners_of(const TurnedRect& rect);

}  // namespace dvnn::decode
