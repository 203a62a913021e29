// SPDX-License-Identifier: Apache-2.0
// Pictures in memory, and how they are read from files and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/grid.h"
#include "base/result.h"

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

/// Reads a file in any format that the module supports (picture_codec.h), as BGR. Errors: kNotFound
/// or kIo (the file cannot be read), kMalformed (no picture, or a broken one).
Result<Bitmap> read_picture(const std::string& path);

/// Encodes an 8-bit gray, BGR or BGRA picture as PNG.
Result<std::string> encode_png(const Bitmap& picture);

/// Writes an 8-bit gray, BGR or BGRA picture as PNG.
Status write_png(const std::string& path, const Bitmap& picture);

}  // namespace dvnn::tools
