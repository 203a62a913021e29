// SPDX-License-Identifier: Apache-2.0
// Makes floats of what a direct convolution multiplies next, for every instruction set.

// A guard for each target, as in Highway's own -inl headers.
#if defined(DVNN_SOFTDV_CONVERT_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_SOFTDV_CONVERT_AHEAD_INL_H
#undef DVNN_SOFTDV_CONVERT_AHEAD_INL_H
#else
#define DVNN_SOFTDV_CONVERT_AHEAD_INL_H
#endif

#include "hwy/highway.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void MoveAhead(SourceAhead* ahead, size_t pixels) {
  ahead->from += pixels * 8;
  ahead->to += pixels * 8;
  ahead->left -= pixels;
}

// Makes floats of kPixels pixels of a chunk. Stores of half a cache line pass beside products.
template <size_t kPixels>
HWY_INLINE void ConvertPixels(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 8> d;
  HWY_UNROLL(24)
  for (size_t i = 0; i < kPixels * 8; i += hn::MaxLanes(d)) {
    hn::StoreU(LoadHalves(d, from + i), d, to + i);
  }
}

constexpr size_t kWeightsPart = 64;

// Makes floats of some weights.
HWY_INLINE void ConvertWeights(WeightsAhead* ahead) {
  ConvertPixels<kWeightsPart / 8>(ahead->from, ahead->to);
  ahead->from += kWeightsPart;
  ahead->to += kWeightsPart;
  ahead->left -= kWeightsPart;
}

// Converts the pixels before `end`, which were not converted beside products.
HWY_NOINLINE void ConvertUntil(const float* end, SourceAhead* ahead) {
  const size_t pixels = static_cast<size_t>(end - ahead->to) / 8;
  for (size_t chunk = 0; chunk < ahead->chunks; ++chunk) {
    const half_t* const from = ahead->from + ahead->starts[chunk];
    float* const to = ahead->to + chunk * ahead->plane;
    for (size_t p = 0; p < pixels; ++p) ConvertPixels<1>(from + p * 8, to + p * 8);
  }
  MoveAhead(ahead, pixels);
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
