// SPDX-License-Identifier: Apache-2.0
// Vector code that samples a picture through an affine map, to rows of pixels R, G, B, 0: the
// picture may be turned, sheared or shrunk. Exactly the arithmetic of OpenCV's warpAffine
// (INTER_LINEAR, 8 bits), with positions in 1/32 of a pixel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

/// Bits of a pixel's fraction in computed positions.
constexpr int kWarpBits = 10;

/// A picture with a border of one pixel, which stands for everything beyond its edges.
struct WarpSource {
  const uint8_t* pixels = nullptr;  // upper left corner of the border; 4 bytes per pixel
  int pitch = 0;                    // pixels between rows
  int width = 0, height = 0;        // without the border
};

/// Places of a row's pixels in the source, in 1 / 2^kWarpBits of a pixel with pixel centres at
/// integers: pixel i is at x + dx[i], y + dy[i]. The lists and `out` may be read and written up to
/// kRowPadding bytes beyond their end; those bytes of the lists must be valid places, too.
struct WarpRow {
  int32_t x = 0, y = 0;
  const int32_t *dx = nullptr, *dy = nullptr;
};

void warp_row(const WarpSource& source, const WarpRow& row, size_t count, uint8_t* out);

}  // namespace dvnn::image
