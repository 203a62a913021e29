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
    /// Between pixels, whose middles are at integers. The place must be inside.
    float at(float x, float y) const {
      const int left = static_cast<int>(x), top = static_cast<int>(y);
      const float right_share = x - static_cast<float>(left),
                  low_share = y - static_cast<float>(top);
      const float *high = row(top) + left, *low = high + width;
      const float upper = high[0] + right_share * (high[1] - high[0]);
      const float lower = low[0] + right_share * (low[1] - low[0]);
      return upper + low_share * (lower - upper);
    }
  };

  /// Returns whether the frame is large enough to be looked at. Keeps its memory.
  bool build(const Luma& frame);
  const Level& level(int i) const { return levels_[i]; }
  /// Pixels of the frame to one of the finest level.
  int step() const { return step_; }
  void swap(LumaPyramid* other);

 private:
  Level levels_[kLevels];
  std::vector<uint16_t> sums_;
  int step_ = 0;
};

}  // namespace dvnn::motion
