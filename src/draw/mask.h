// SPDX-License-Identifier: Apache-2.0
// Draws masks as tints: in the object's colour with a soft edge, or in a colour per class.
#pragma once

#include <optional>

#include "draw/item.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// Returns the tint of an object's mask within `bounds`, which are on the frame, or nothing if no
/// part is visible. It has at most `most` pixels, and is scaled to its place. In maps, class 0 is
/// background and transparent.
std::optional<Tile> mask_tile(const objects::Object& object, int color,
                              const image::Corners& bounds, size_t most);

}  // namespace dvnn::draw
