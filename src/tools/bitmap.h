// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/grid.h"

namespace dvnn::tools {

/// An 8-bit picture of 1 (gray), 3 (BGR) or 4 channels (BGRA), its rows without gaps.
struct Bitmap {
  Bitmap() = default;
  Bitmap(int w, int h, int c)
      : width(w), height(h), channels(c), bytes(grid_size(w, h) * static_cast<size_t>(c)) {}

  size_t stride() const { return grid_size(width, channels); }
  const uint8_t* row(int y) const { return bytes.data() + stride() * static_cast<size_t>(y); }
  uint8_t* row(int y) { return bytes.data() + stride() * static_cast<size_t>(y); }

  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> bytes;
};

}  // namespace dvnn::tools
