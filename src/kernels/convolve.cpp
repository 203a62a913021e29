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

using D = hn::CappedTag<float, kConvolveSlack>;
using V = hn::Vec<D>;

// Stores only those elements of the last vector that the row has.
HWY_INLINE void StoreFirst(V v, float* to, size_t left) {
  const D d;
  if (left >= hn::Lanes(d)) return hn::StoreU(v, d, to);
  HWY_ALIGN float lanes[kConvolveSlack];
  hn::Store(v, d, lanes);
  std::copy(lanes, lanes + left, to);
}

void ConvolveRow(const float* HWY_RESTRICT source, const int64_t* offsets, size_t taps,
                 const float* weights, const float* bias, size_t channels, size_t count,
                 float* const* to) {
  const D d;
  for (size_t x = 0; x < count; x += hn::Lanes(d)) {
    V s0 = hn::Set(d, bias[0]), s1 = hn::Set(d, bias[1]), s2 = hn::Set(d, bias[2]);
    V s3 = hn::Set(d, bias[3]), s4 = hn::Set(d, bias[4]), s5 = hn::Set(d, bias[5]);
    V s6 = hn::Set(d, bias[6]), s7 = hn::Set(d, bias[7]);
    const float* w = weights;
    for (size_t k = 0; k < taps; ++k, w += kConvolveChannels) {
      const V v = hn::LoadU(d, source + offsets[k] + x);
      s0 = hn::Add(s0, hn::Mul(hn::Set(d, w[0]), v));
      s1 = hn::Add(s1, hn::Mul(hn::Set(d, w[1]), v));
      s2 = hn::Add(s2, hn::Mul(hn::Set(d, w[2]), v));
      s3 = hn::Add(s3, hn::Mul(hn::Set(d, w[3]), v));
      s4 = hn::Add(s4, hn::Mul(hn::Set(d, w[4]), v));
      s5 = hn::Add(s5, hn::Mul(hn::Set(d, w[5]), v));
      s6 = hn::Add(s6, hn::Mul(hn::Set(d, w[6]), v));
      s7 = hn::Add(s7, hn::Mul(hn::Set(d, w[7]), v));
    }
    const size_t left = count - x;
    if (channels > 0) StoreFirst(s0, to[0] + x, left);
    if (channels > 1) StoreFirst(s1, to[1] + x, left);
    if (channels > 2) StoreFirst(s2, to[2] + x, left);
    if (channels > 3) StoreFirst(s3, to[3] + x, left);
    if (channels > 4) StoreFirst(s4, to[4] + x, left);
    if (channels > 5) StoreFirst(s5, to[5] + x, left);
    if (channels > 6) StoreFirst(s6, to[6] + x, left);
    if (channels > 7) StoreFirst(s7, to[7] + x, left);
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
