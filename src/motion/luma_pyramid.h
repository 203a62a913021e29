// SPDX-License-Identifier: Apache-2.0
// A frame's brightness at a few hundred pixels across, and at half and a quarter of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::motion {

/// A frame's brightness: bytes `pixel_stride` apart in rows `stride` apart.
struct Luma {
  const uint8_t* data = nullptr;
  int width = 0, height = 0;
  ptrdiff_t stride = 0;
  int pixel_stride = 1;
};

class LumaPyramid {
 public:
  static constexpr int kLevels = 3;
  static constexpr int kMostWidth = 320, kMostHeight = 240;  // of the finest level

  struct Level {
    int width = 0, height = 0;
    std::vector<float> pixels;

    const float* row(int y) const {
      return &pixels[static_cast<size_t>(y) * static_cast<size_t>(width)];
    }
  };

  /// Returns the size of a pixel of the finest level in pixels of a frame of this size.
  static int step_of(int width, int height);
  /// Builds the levels. Returns false if the frame is too small. Keeps its memory.
  bool build(const Luma& frame);
  const Level& level(int i) const { return levels_[i]; }
  /// Returns the size of a pixel of the finest level in the frame's pixels.
  int step() const { return step_; }
  void swap(LumaPyramid* other);

 private:
  // Rows that are averaged for a row of the finest level, enough against moire.
  static constexpr int kMostRows = 2;

  Level levels_[kLevels];
  std::vector<uint8_t> bytes_[kMostRows];
  std::vector<uint16_t> sums_;
  int step_ = 0;
};

}  // namespace dvnn::motion
