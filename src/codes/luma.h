// SPDX-License-Identifier: Apache-2.0
// The brightness of a part of a frame at the frame's own resolution: what readers of codes want.
#pragma once

#include <cstdint>
#include <vector>

#include "image/pixel_formats.h"

namespace dvnn::codes {

/// A picture of bytes, rows without gaps. 0 is dark.
struct Luma {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// A frame's planes, as they lie in memory.
struct Planes {
  image::PixelFormat format{};
  const uint8_t* data[4] = {};
  int stride[4] = {};
  // Of a field, 2: each of its rows stands for two lines of the frame, and is read as these.
  int lines_per_row = 1;
};

/// Whole pixels of a frame; x1 and y1 are beyond the last.
struct PixelRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Y of the part, which lies within the frame, or BT.601's sum of R, G and B; 8 bits of deeper
/// samples.
void copy_luma(const Planes& frame, const PixelRect& part, Luma* luma);

constexpr double radians(double degrees) {
  return degrees * 3.14159265358979323846 / 180;
}

/// The picture `scale` times as large, turned clockwise about its middle by degrees; beyond its
/// edge it is light. Neighbours are weighted.
void turn(const Luma& from, double scale, double degrees, Luma* to);

}  // namespace dvnn::codes
