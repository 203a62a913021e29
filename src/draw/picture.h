// SPDX-License-Identifier: Apache-2.0
// Small pictures with places: the result of drawing, to be blended onto frames, or here onto a
// picture in memory; and a colour for each number of a class or a track.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/grid.h"

namespace dvnn::draw {

struct Color {
  double red = 0, green = 0, blue = 0;  // 0..1

  /// The brightness, 0..1.
  double luma() const { return 0.299 * red + 0.587 * green + 0.114 * blue; }
  /// Returns the colour as a pixel that is not premultiplied with `alpha`.
  uint32_t pixel(uint8_t alpha = 255) const;
};

/// Returns a number's colour, which differs clearly from those of numbers nearby.
Color color_of(int number);

/// 32-bit pixels in the machine's byte order: alpha in the highest byte, then red, green, blue.
struct Picture {
  int width = 0, height = 0;
  bool premultiplied = true;  // whether colours are multiplied by alpha
  std::vector<uint32_t> argb;

  Picture(int w, int h, bool premultiply)
      : width(w), height(h), premultiplied(premultiply), argb(grid_size(w, h)) {}
};

/// A picture's place on a frame, in the frame's pixels. A picture of another size is scaled so that
/// its first and last pixels are on the first and last ones of the place. Only pictures of one
/// colour or without premultiplication may be scaled, because GStreamer drops the
/// premultiplication.
struct Tile {
  std::shared_ptr<const Picture> picture;
  int x = 0, y = 0, width = 0, height = 0;
};

/// Pixels of three bytes: blue, green, red.
struct BgrView {
  uint8_t* data = nullptr;
  int width = 0, height = 0;
  ptrdiff_t stride = 0;  // bytes from row to row
};

void blend(const std::vector<Tile>& tiles, const BgrView& onto);

}  // namespace dvnn::draw
