// SPDX-License-Identifier: Apache-2.0
// A frame's brightness at a few hundred pixels across, and at half and quarter of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::motion {

/// The brightness of a frame: bytes that are `pixel_stride` apart in rows that are `stride` apart.
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

  /// Returns whether the frame is large enough to be looked at. Keeps its memory.
  bool build(const Luma& frame);
  const Level& level(int i) const { return levels_[i]; }
  /// Pixels of the frame to one of the finest level.
  int step() const { return step_; }
  void swap(LumaPyramid* other);

 private:
  // Rows that are read of those that fall together: enough against moire.
  static constexpr int kMostRows = 2;

  Level levels_[kLevels];
  std::vector<uint8_t> bytes_[kMostRows];
  std::vector<uint16_t> sums_;
  int step_ = 0;
};

}  // namespace dvnn::motion
