// SPDX-License-Identifier: Apache-2.0
// Blends tiles onto a picture in memory, in the way GStreamer blends them onto frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "draw/picture.h"

namespace dvnn::draw {

/// Pixels of three bytes: blue, green, red.
struct BgrView {
  uint8_t* data = nullptr;
  int width = 0, height = 0;
  ptrdiff_t stride = 0;  // bytes from row to row
};

void blend(const std::vector<Tile>& tiles, const BgrView& onto);

}  // namespace dvnn::draw
