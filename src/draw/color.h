// SPDX-License-Identifier: Apache-2.0
// A colour for every number: that of a class, or of a track.
#pragma once

#include <cstdint>

namespace dvnn::draw {

struct Color {
  double red = 0, green = 0, blue = 0;  // 0..1

  /// The brightness, 0..1.
  double luma() const { return 0.299 * red + 0.587 * green + 0.114 * blue; }
  /// The colour as a pixel whose components are not multiplied by `alpha`.
  uint32_t pixel(uint8_t alpha = 255) const;
};

/// A stable colour that is far from those of the numbers nearby.
Color color_of(int number);

}  // namespace dvnn::draw
