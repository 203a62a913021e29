// SPDX-License-Identifier: Apache-2.0
#include "motion/luma_pyramid.h"

#include <algorithm>
#include <utility>

namespace dvnn::motion {
namespace {

constexpr int kLeastExtent = 64;  // of the finest level: the coarsest has a quarter
constexpr int kMostRows = 2;      // that are read of those that fall together: enough against moire

// The sums of `step` numbers each.
void fold_any(int step, const uint16_t* from, int count, float scale, float* to) {
  for (int x = 0; x < count; ++x, from += step) {
    int all = 0;
    for (int i = 0; i < step; ++i) all += from[i];
    to[x] = scale * static_cast<float>(all);
  }
}

// Those of usual frames, for which the compiler knows the step.
void fold(int step, const uint16_t* from, int count, float scale, float* to) {
  switch (step) {
    case 2:
      return fold_any(2, from, count, scale, to);
    case 4:
      return fold_any(4, from, count, scale, to);
    case 6:
      return fold_any(6, from, count, scale, to);
    default:
      return fold_any(step, from, count, scale, to);
  }
}

}  // namespace

void LumaPyramid::swap(LumaPyramid* other) {
  for (int i = 0; i < kLevels; ++i) std::swap(levels_[i], other->levels_[i]);
  std::swap(step_, other->step_);
}

bool LumaPyramid::build(const Luma& frame) {
  step_ = std::max({1, (frame.width + kMostWidth - 1) / kMostWidth,
                    (frame.height + kMostHeight - 1) / kMostHeight});
  Level& finest = levels_[0];
  // All levels halve without a rest.
  finest.width = frame.width / step_ / 4 * 4;
  finest.height = frame.height / step_ / 4 * 4;
  if (finest.width < kLeastExtent || finest.height < kLeastExtent) return false;
  finest.pixels.resize(static_cast<size_t>(finest.width) * static_cast<size_t>(finest.height));
  const int wide = finest.width * step_, rows = std::min(step_, kMostRows);
  sums_.resize(static_cast<size_t>(wide));
  const float scale = 1.0f / static_cast<float>(rows * step_);
  for (int y = 0; y < finest.height; ++y) {
    std::fill(sums_.begin(), sums_.end(), uint16_t{0});
    for (int i = 0; i < rows; ++i) {
      const uint8_t* from = frame.data + (y * step_ + i * step_ / rows) * frame.stride;
      if (frame.pixel_stride == 1) {
        for (int x = 0; x < wide; ++x) sums_[x] = static_cast<uint16_t>(sums_[x] + from[x]);
      } else {
        for (int x = 0; x < wide; ++x)
          sums_[x] = static_cast<uint16_t>(sums_[x] + from[x * frame.pixel_stride]);
      }
    }
    float* to = &finest.pixels[static_cast<size_t>(y) * static_cast<size_t>(finest.width)];
    fold(step_, sums_.data(), finest.width, scale, to);
  }
  for (int i = 1; i < kLevels; ++i) {
    const Level& fine = levels_[i - 1];
    Level& level = levels_[i];
    level.width = fine.width / 2;
    level.height = fine.height / 2;
    level.pixels.resize(static_cast<size_t>(level.width) * static_cast<size_t>(level.height));
    float* to = level.pixels.data();
    for (int y = 0; y < level.height; ++y) {
      const float *high = fine.row(2 * y), *low = fine.row(2 * y + 1);
      for (int x = 0; x < level.width; ++x, ++to)
        *to = (high[2 * x] + high[2 * x + 1] + low[2 * x] + low[2 * x + 1]) / 4;
    }
  }
  return true;
}

}  // namespace dvnn::motion
