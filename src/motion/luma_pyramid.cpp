// SPDX-License-Identifier: Apache-2.0
#include "motion/luma_pyramid.h"

#include <algorithm>
#include <utility>

#include "kernels/windows/windows.h"

namespace dvnn::motion {
namespace {

constexpr int kLeastExtent = 64;  // of the finest level, pixels; the coarsest has a quarter

// Returns bytes that are `pixel_stride` apart as consecutive ones.
const uint8_t* packed(const uint8_t* from, int pixel_stride, int count,
                      std::vector<uint8_t>* bytes) {
  if (pixel_stride == 1) return from;
  bytes->resize(static_cast<size_t>(count));
  for (int x = 0; x < count; ++x) (*bytes)[static_cast<size_t>(x)] = from[x * pixel_stride];
  return bytes->data();
}

}  // namespace

void LumaPyramid::swap(LumaPyramid* other) {
  for (int i = 0; i < kLevels; ++i) std::swap(levels_[i], other->levels_[i]);
  std::swap(step_, other->step_);
}

int LumaPyramid::step_of(int width, int height) {
  return std::max(
      {1, (width + kMostWidth - 1) / kMostWidth, (height + kMostHeight - 1) / kMostHeight});
}

bool LumaPyramid::build(const Luma& frame) {
  step_ = step_of(frame.width, frame.height);
  Level& finest = levels_[0];
  // Multiples of 4, so that all levels halve evenly.
  finest.width = frame.width / step_ / 4 * 4;
  finest.height = frame.height / step_ / 4 * 4;
  if (finest.width < kLeastExtent || finest.height < kLeastExtent) return false;
  finest.pixels.resize(static_cast<size_t>(finest.width) * static_cast<size_t>(finest.height));
  const int wide = finest.width * step_, rows = std::min(step_, kMostRows);
  sums_.resize(static_cast<size_t>(wide));
  const float scale = 1.0f / static_cast<float>(rows * step_);
  for (int y = 0; y < finest.height; ++y) {
    const uint8_t* read[kMostRows] = {};
    for (int i = 0; i < rows; ++i) {
      const uint8_t* from = frame.data + (y * step_ + i * step_ / rows) * frame.stride;
      read[i] = packed(from, frame.pixel_stride, wide, &bytes_[i]);
    }
    float* to = &finest.pixels[static_cast<size_t>(y) * static_cast<size_t>(finest.width)];
    kernels::shrink_rows(read[0], read[1], static_cast<size_t>(finest.width),
                         static_cast<size_t>(step_), scale, sums_.data(), to);
  }
  for (int i = 1; i < kLevels; ++i) {
    const Level& fine = levels_[i - 1];
    Level& level = levels_[i];
    level.width = fine.width / 2;
    level.height = fine.height / 2;
    level.pixels.resize(static_cast<size_t>(level.width) * static_cast<size_t>(level.height));
    const auto width = static_cast<size_t>(level.width);
    for (int y = 0; y < level.height; ++y) {
      kernels::halve_rows(fine.row(2 * y), fine.row(2 * y + 1), width,
                          &level.pixels[static_cast<size_t>(y) * width]);
    }
  }
  return true;
}

}  // namespace dvnn::motion
