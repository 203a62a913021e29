// SPDX-License-Identifier: Apache-2.0
#include "kernels/convolve.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolve.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kConvolveSlack / 2>;
using V = hn::Vec<D>;

// Stores only those elements of the last vector that the row has.
HWY_INLINE void StoreFirst(V v, float* to, size_t left) {
  const D d;
  if (left >= hn::Lanes(d)) return hn::StoreU(v, d, to);
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  std::copy(lanes, lanes + left, to);
}

// Where there are 32 registers, two vectors of a row share the weights.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kVectors = 2;
#else
constexpr size_t kVectors = 1;
#endif

// Up to kVectors vectors of a row; `left` is how many of its elements are theirs, or more.
void ConvolveVectors(const float* HWY_RESTRICT source, const int64_t* offsets, size_t taps,
                     const float* weights, const float* bias, size_t channels, size_t x,
                     size_t left, float* const* to) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kConvolveChannels][kVectors];
  HWY_UNROLL(8)
  for (size_t m = 0; m < kConvolveChannels; ++m) {
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v) sums[m][v] = hn::Set(d, bias[m]);
  }
  const float* w = weights;
  for (size_t k = 0; k < taps; ++k, w += kConvolveChannels) {
    V values[kVectors];
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v)
      values[v] = hn::LoadU(d, source + offsets[k] + x + v * lanes);
    HWY_UNROLL(8)
    for (size_t m = 0; m < kConvolveChannels; ++m) {
      HWY_UNROLL(2)
      for (size_t v = 0; v < kVectors; ++v)
        sums[m][v] = hn::MulAdd(hn::Set(d, w[m]), values[v], sums[m][v]);
    }
  }
  HWY_UNROLL(8)
  for (size_t m = 0; m < kConvolveChannels; ++m) {
    if (m >= channels) break;
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v) {
      if (v * lanes < left) StoreFirst(sums[m][v], to[m] + x + v * lanes, left - v * lanes);
    }
  }
}

void ConvolveRow(const float* HWY_RESTRICT source, const int64_t* offsets, size_t taps,
                 const float* weights, const float* bias, size_t channels, size_t count,
                 float* const* to) {
  for (size_t x = 0; x < count; x += kVectors * hn::Lanes(D())) {
    ConvolveVectors(source, offsets, taps, weights, bias, channels, x, count - x, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
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
