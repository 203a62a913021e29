// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/any_depthwise_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes pixels of fewer than 8 channels, one source pixel apart: weights and bias repeat over
// `pattern` floats, a multiple of 16.
void RaggedDepthwiseRow(size_t kernel, size_t channels, size_t pattern, const float* const* from,
                        const float* weights, const float* bias, size_t pixels,
                        float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  size_t at = 0;  // position within the pattern
  for (size_t i = 0; i < channels * pixels; i += hn::Lanes(d)) {
    auto sum = hn::Load(d, bias + at);
    const float* weight = weights + at;
    for (size_t y = 0; y < kernel; ++y) {
      for (size_t x = 0; x < kernel; ++x, weight += pattern) {
        sum = hn::MulAdd(hn::LoadU(d, from[y] + i + x * channels), hn::Load(d, weight), sum);
      }
    }
    hn::StoreU(sum, d, to + i);
    at = at + hn::Lanes(d) == pattern ? 0 : at + hn::Lanes(d);
  }
}

// Taps of any kernel: where each begins for the first result.
struct Taps {
  const size_t* starts;
  size_t count;
  const float *weights, *bias;
};

// Computes kVectors vectors. `step`: floats between their sources; `made`: floats between their
// results.
template <size_t kVectors, class D>
HWY_INLINE void SumTaps(D d, const float* HWY_RESTRICT from, const Taps& taps, size_t lane,
                        size_t step, size_t made, float* HWY_RESTRICT to) {
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) sums[i] = hn::Load(d, taps.bias + lane);
  for (size_t k = 0; k < taps.count; ++k) {
    const auto weight = hn::Load(d, taps.weights + 16 * k + lane);
    const float* const at = from + taps.starts[k] + lane;
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(hn::LoadU(d, at + i * step), weight, sums[i]);
    }
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) hn::StoreU(sums[i], d, to + i * made + lane);
}

// Computes results in groups of `made` floats: a pixel, or a vector of two pixels.
template <class D>
HWY_INLINE void SumGroups(D d, const float* HWY_RESTRICT from, const Taps& taps, size_t step,
                          size_t made, size_t groups, float* HWY_RESTRICT to) {
  for (size_t lane = 0; lane < made; lane += hn::Lanes(d)) {
    size_t i = 0;
    for (; i + 4 <= groups; i += 4)
      SumTaps<4>(d, from + i * step, taps, lane, step, made, to + i * made);
    for (; i < groups; ++i) SumTaps<1>(d, from + i * step, taps, lane, step, made, to + i * made);
  }
}

void DepthwiseOfTaps(const float* HWY_RESTRICT from, const size_t* starts, size_t count,
                     size_t step, const float* weights, const float* bias, size_t pixels,
                     float* HWY_RESTRICT to) {
  const Taps taps = {starts, count, weights, bias};
  const hn::CappedTag<float, 16> pair;
  size_t done = 0;
  if (step == 8 && hn::Lanes(pair) == 16) {
    done = pixels - pixels % 2;
    SumGroups(pair, from, taps, 16, 16, pixels / 2, to);
  }
  const hn::CappedTag<float, 8> one;
  SumGroups(one, from + done * step, taps, step, 8, pixels - done, to + 8 * done);
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(RaggedDepthwiseRow);
HWY_EXPORT(DepthwiseOfTaps);

}  // namespace

void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to) {
  HWY_DYNAMIC_DISPATCH(RaggedDepthwiseRow)
  (static_cast<size_t>(kernel), channels, pattern, from, by.weights, by.bias, pixels, to);
}

void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to) {
  HWY_DYNAMIC_DISPATCH(DepthwiseOfTaps)
  (from, taps, count, step, by.weights, by.bias, pixels, to);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
