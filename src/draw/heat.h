// SPDX-License-Identifier: Apache-2.0
// A translucent map of heat over a part of the frame: blue for little, over green and yellow to red
// for the most.
#pragma once

#include <optional>
#include <vector>

#include "draw/picture.h"
#include "image/view.h"

namespace dvnn::draw {

/// A grid over a part of the frame.
struct HeatMap {
  image::Corners place;  // frame pixels
  int columns = 0, rows = 0;
  std::vector<float> values;  // rows from the top, >= 0
};

/// Returns the picture of a map, or nothing if there is no heat, or no place for it on the frame.
/// Colours go by the logarithm of a value, as a share of that of the greatest one. Throws
/// std::bad_alloc.
std::optional<Tile> heat_tile(const HeatMap& map);

}  // namespace dvnn::draw
