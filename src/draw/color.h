// SPDX-License-Identifier: Apache-2.0
// A colour for each number of a class or a track.
#pragma once

#include <cstdint>

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

}  // namespace dvnn::draw
