// SPDX-License-Identifier: Apache-2.0
// Masks as tints: of the object's colour with a soft edge, or of a colour for each class.
#pragma once

#include <optional>

#include "draw/item.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// The tint of the mask of `object` where it lies within `bounds`, which are on the frame, in at
/// most `most` pixels, which are scaled to the place; nothing if nothing of it is to be seen. Class
/// 0 is the background, which stays as it is.
std::optional<Tile> mask_tile(const objects::Object& object, int color,
                              const image::Corners& bounds, size_t most);

}  // namespace dvnn::draw
