// SPDX-License-Identifier: Apache-2.0
// The vector code of sampling through an affine map: a row of pixels R, G, B, 0 of a picture that
// lies there turned, sheared or shrunk. The very arithmetic of OpenCV's warpAffine (INTER_LINEAR,
// 8 bits): positions in 1/32 of a pixel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

/// Steps of a pixel that positions are computed in.
constexpr int kWarpBits = 10;

/// A picture with a frame around it, one pixel wide, which stands for all that is beyond its edges.
struct WarpSource {
  const uint8_t* pixels = nullptr;  // of the frame's upper left corner; 4 bytes each
  int pitch = 0;                    // pixels from row to row
  int width = 0, height = 0;        // without the frame
};

/// Places of a row's pixels in the source, in 1 / 2^kWarpBits of a pixel, pixels' centres at whole
/// numbers: pixel i at x + dx[i], y + dy[i]. The lists, and `out`, may be read and written up to
/// kRowPadding bytes beyond their end; those bytes of the lists must be places, too.
struct WarpRow {
  int32_t x = 0, y = 0;
  const int32_t *dx = nullptr, *dy = nullptr;
};

void warp_row(const WarpSource& source, const WarpRow& row, size_t count, uint8_t* out);

}  // namespace dvnn::image
