// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows/windows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Number of windows at once, because each adds its values one after the other.
constexpr size_t kTogether = 4;

// Folds windows: add(value, so far) adds a value. They are kCount, from the `from`-th on.
template <size_t kCount, class D, class Add>
HWY_INLINE void Fold(D d, const PixelWindows& w, const float* HWY_RESTRICT from,
                     hn::Vec<D> (&folded)[kCount], Add add) {
  for (size_t y = 0; y < w.rows; ++y) {
    const float* at = from + y * w.row;
    for (size_t x = 0; x < w.columns; ++x, at += w.column) {
      HWY_UNROLL(4)
      for (size_t k = 0; k < kCount; ++k) folded[k] = add(hn::LoadU(d, at + k * w.step), folded[k]);
    }
  }
}

// Folds all windows, beginning with `start`; end(folded) is the result.
template <class Add, class End>
HWY_INLINE void FoldAll(const PixelWindows& w, float start, float* HWY_RESTRICT to, Add add,
                        End end) {
  ForEachVector(w.lanes, [&](auto d, size_t lane) HWY_ATTR {
    using V = hn::Vec<decltype(d)>;
    size_t i = 0;
    for (; i + kTogether <= w.count; i += kTogether) {
      V folded[kTogether];
      for (V& v : folded) v = hn::Set(d, start);
      Fold(d, w, w.first + i * w.step + lane, folded, add);
      for (size_t k = 0; k < kTogether; ++k) {
        hn::StoreU(end(d, folded[k]), d, to + (i + k) * w.lanes + lane);
      }
    }
    for (; i < w.count; ++i) {
      V folded[1] = {hn::Set(d, start)};
      Fold(d, w, w.first + i * w.step + lane, folded, add);
      hn::StoreU(end(d, folded[0]), d, to + i * w.lanes + lane);
    }
  });
}

void LargestOfWindows(const PixelWindows& w, float* to) {
  FoldAll(
      w, -std::numeric_limits<float>::max(), to,
      [](auto value, auto most) HWY_ATTR { return MaxOf(most, value); },
      [](auto, auto most) HWY_ATTR { return most; });
}

void AverageOfWindows(const PixelWindows& w, float divisor, float* to) {
  FoldAll(
      w, 0, to, [](auto value, auto sum) HWY_ATTR { return hn::Add(sum, value); },
      [=](auto d, auto sum) HWY_ATTR { return Divide(sum, hn::Set(d, divisor)); });
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(LargestOfWindows);
HWY_EXPORT(AverageOfWindows);

void largest_of_windows(const PixelWindows& windows, float* to) {
  HWY_DYNAMIC_DISPATCH(LargestOfWindows)(windows, to);
}

void average_of_windows(const PixelWindows& windows, float divisor, float* to) {
  HWY_DYNAMIC_DISPATCH(AverageOfWindows)(windows, divisor, to);
}

namespace plain {

// Calls visit(float) for the values of a window in a channel.
template <typename Visit>
static void each(const PixelWindows& w, size_t window, size_t channel, Visit visit) {
  for (size_t i = 0; i < w.rows * w.columns; ++i) {
    visit(w.first[window * w.step + i / w.columns * w.row + i % w.columns * w.column + channel]);
  }
}

void largest_of_windows(const PixelWindows& w, float* to) {
  for (size_t i = 0; i < w.count * w.lanes; ++i) {
    float most = -std::numeric_limits<float>::max();
    each(w, i / w.lanes, i % w.lanes, [&](float v) { most = std::max(most, v); });
    to[i] = most;
  }
}

void average_of_windows(const PixelWindows& w, float divisor, float* to) {
  for (size_t i = 0; i < w.count * w.lanes; ++i) {
    float sum = 0;
    each(w, i / w.lanes, i % w.lanes, [&](float v) { sum += v; });
    to[i] = sum / divisor;
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
