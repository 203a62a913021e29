// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows/convolve.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kConvolveSlack / 2>;
using V = hn::Vec<D>;

// Stores only those elements of a row's last vector that the row has.
HWY_INLINE void StoreFirst(V v, float* to, size_t left) {
  const D d;
  if (left >= hn::Lanes(d)) return hn::StoreU(v, d, to);
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  std::copy(lanes, lanes + left, to);
}

HWY_INLINE V LoadFirst(const float* from, size_t left) {
  const D d;
  if (left >= hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN float lanes[hn::MaxLanes(D())] = {};
  std::copy(from, from + left, lanes);
  return hn::Load(d, lanes);
}

// Number of channels and vectors of a row whose sums are in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kChannels = 8, kVectors = 2;
#else
constexpr size_t kChannels = 4, kVectors = 3;
#endif
static_assert(kConvolveChannels % kChannels == 0 &&
              (kVectors - 1) * hn::MaxLanes(D()) <= kConvolveSlack);

// A row of results: its sums so far or, if `goes_on` is false, its biases.
struct Row {
  const float* bias;
  float* const* to;
  size_t channels, count;
  bool goes_on;

  // Loads the vector from element `x` on of channel `m`; beyond the row or the channels, the bias.
  HWY_INLINE V Load(size_t m, size_t x) const {
    if (!goes_on || m >= channels || x >= count) return hn::Set(D(), bias[m]);
    return LoadFirst(to[m] + x, count - x);
  }
  HWY_INLINE void Store(V sum, size_t m, size_t x) const {
    if (m < channels && x < count) StoreFirst(sum, to[m] + x, count - x);
  }
};

// Adds some taps to channels `first` .. of vectors from element `x` on.
void ConvolveVectors(const float* HWY_RESTRICT source, const int64_t* offsets, size_t taps,
                     const float* weights, const Row& row, size_t first, size_t x) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kChannels][kVectors];
  HWY_UNROLL(8)
  for (size_t m = 0; m < kChannels; ++m) {
    HWY_UNROLL(3)
    for (size_t v = 0; v < kVectors; ++v) sums[m][v] = row.Load(first + m, x + v * lanes);
  }
  const float* w = weights + first;
  for (size_t k = 0; k < taps; ++k, w += kConvolveChannels) {
    V values[kVectors];
    HWY_UNROLL(3)
    for (size_t v = 0; v < kVectors; ++v) {
      values[v] = hn::LoadU(d, source + offsets[k] + x + v * lanes);
    }
    HWY_UNROLL(8)
    for (size_t m = 0; m < kChannels; ++m) {
      HWY_UNROLL(3)
      for (size_t v = 0; v < kVectors; ++v) {
        sums[m][v] = hn::MulAdd(hn::Set(d, w[m]), values[v], sums[m][v]);
      }
    }
  }
  HWY_UNROLL(8)
  for (size_t m = 0; m < kChannels; ++m) {
    HWY_UNROLL(3)
    for (size_t v = 0; v < kVectors; ++v) row.Store(sums[m][v], first + m, x + v * lanes);
  }
}

// Adds the taps in groups whose weights and sources stay in the first-level cache for a whole row.
void ConvolveRow(const float* HWY_RESTRICT source, const int64_t* offsets, size_t taps,
                 const float* weights, const float* bias, size_t channels, size_t count,
                 float* const* to) {
  constexpr size_t kTaps = 192;
  const size_t step = kVectors * hn::Lanes(D());
  for (size_t k = 0; k == 0 || k < taps; k += kTaps) {
    const Row row = {bias, to, channels, count, k > 0};
    for (size_t first = 0; first < channels; first += kChannels) {
      for (size_t x = 0; x < count; x += step) {
        ConvolveVectors(source, offsets + k, std::min(kTaps, taps - k),
                        weights + k * kConvolveChannels, row, first, x);
      }
    }
  }
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(ConvolveRow);

void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to) {
  HWY_DYNAMIC_DISPATCH(ConvolveRow)(source, offsets, taps, weights, bias, channels, count, to);
}

namespace plain {

void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to) {
  for (size_t m = 0; m < channels; ++m) {
    for (size_t x = 0; x < count; ++x) {
      float sum = bias[m];
      for (size_t k = 0; k < taps; ++k) {
        sum += weights[k * kConvolveChannels + m] * source[offsets[k] + static_cast<int64_t>(x)];
      }
      to[m][x] = sum;
    }
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
