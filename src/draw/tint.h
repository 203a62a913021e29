// SPDX-License-Identifier: Apache-2.0
// Translucent pictures over parts of a frame: masks as tints, in the object's colour with a soft
// edge or in a colour per class, and maps of heat, blue for little, over green and yellow to red
// for the most.
#pragma once

#include <optional>
#include <vector>

#include "draw/item.h"
#include "draw/picture.h"
#include "image/view.h"

namespace dvnn::draw {

/// Returns the tint of an object's mask within `bounds`, which are on the frame, or nothing if no
/// part is visible. It has at most `most` pixels, and is scaled to its place. In maps, class 0 is
/// background and transparent.
std::optional<Tile> mask_tile(const objects::Object& object, int color,
                              const image::Corners& bounds, size_t most);

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
