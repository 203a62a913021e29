// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {

void LargestOfWindow(const PixelWindow& w, float* to) {
  ForEachVector(w.lanes, [=](auto d, size_t i) HWY_ATTR {
    auto most = hn::Set(d, -std::numeric_limits<float>::max());
    for (size_t y = 0; y < w.rows; ++y) {
      const float* at = w.first + y * w.row + i;
      for (size_t x = 0; x < w.columns; ++x, at += w.lanes) most = MaxOf(most, hn::LoadU(d, at));
    }
    hn::StoreU(most, d, to + i);
  });
}

void AverageOfWindow(const PixelWindow& w, float divisor, float* to) {
  ForEachVector(w.lanes, [=](auto d, size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (size_t y = 0; y < w.rows; ++y) {
      const float* at = w.first + y * w.row + i;
      for (size_t x = 0; x < w.columns; ++x, at += w.lanes) sum = hn::Add(sum, hn::LoadU(d, at));
    }
    hn::StoreU(hn::Div(sum, hn::Set(d, divisor)), d, to + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(LargestOfWindow);
HWY_EXPORT(AverageOfWindow);

void largest_of_window(const PixelWindow& window, float* to) {
  HWY_DYNAMIC_DISPATCH(LargestOfWindow)(window, to);
}

void average_of_window(const PixelWindow& window, float divisor, float* to) {
  HWY_DYNAMIC_DISPATCH(AverageOfWindow)(window, divisor, to);
}

namespace plain {

void largest_of_window(const PixelWindow& w, float* to) {
  for (size_t c = 0; c < w.lanes; ++c) {
    float most = -std::numeric_limits<float>::max();
    for (size_t i = 0; i < w.rows * w.columns; ++i) {
      most = std::max(most, w.first[i / w.columns * w.row + i % w.columns * w.lanes + c]);
    }
    to[c] = most;
  }
}

void average_of_window(const PixelWindow& w, float divisor, float* to) {
  for (size_t c = 0; c < w.lanes; ++c) {
    float sum = 0;
    for (size_t i = 0; i < w.rows * w.columns; ++i) {
      sum += w.first[i / w.columns * w.row + i % w.columns * w.lanes + c];
    }
    to[c] = sum / divisor;
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
