// SPDX-License-Identifier: Apache-2.0
// Small pictures with places: what drawing makes, and what is put onto frames.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/grid.h"

namespace dvnn::draw {

/// Pixels of 32 bits in the machine's order of bytes: alpha above red, green and blue.
struct Picture {
  int width = 0, height = 0;
  bool premultiplied = true;  // false: colours are not multiplied by alpha
  std::vector<uint32_t> argb;

  Picture(int w, int h, bool premultiply)
      : width(w), height(h), premultiplied(premultiply), argb(grid_size(w, h)) {}
};

/// A picture on a frame, in the frame's pixels. A picture of another size than its place is scaled:
/// its first and last pixels lie on the place's first and last ones. Only pictures of one colour or
/// with `premultiplied` false are scaled, because GStreamer forgets the multiplication.
struct Tile {
  std::shared_ptr<const Picture> picture;
  int x = 0, y = 0, width = 0, height = 0;
};

}  // namespace dvnn::draw
