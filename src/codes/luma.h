// SPDX-License-Identifier: Apache-2.0
// Extracts the brightness of a part of a frame at full resolution, as readers of codes need it.
#pragma once

#include <cstdint>
#include <vector>

#include "image/pixel_formats.h"

namespace dvnn::codes {

/// A grey picture: one byte per pixel, rows without gaps. 0 is black.
struct Luma {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// The planes of a frame in memory.
struct Planes {
  image::PixelFormat format{};
  const uint8_t* data[4] = {};
  int stride[4] = {};
  // 2 for a field: each of its rows is read as two lines of the frame.
  int lines_per_row = 1;
};

/// A rectangle of whole pixels; x1 and y1 are exclusive.
struct PixelRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Copies Y of the part, which must be within the frame, or BT.601's sum of R, G and B. Deeper
/// samples are reduced to 8 bits.
void copy_luma(const Planes& frame, const PixelRect& part, Luma* luma);

constexpr double radians(double degrees) {
  return degrees * 3.14159265358979323846 / 180;
}

/// Scales the picture by `scale` and turns it clockwise about its centre, by bilinear
/// interpolation. Beyond its edge it is white.
void turn(const Luma& from, double scale, double degrees, Luma* to);

}  // namespace dvnn::codes
