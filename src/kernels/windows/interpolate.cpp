// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows/interpolate.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Sums one or two taps. If the second is absent, its weight is 0, and its element is left out
// because it may be infinite.
template <class D, class V>
HWY_INLINE V SumOfPair(D d, V w0, V a, V w1, V b) {
  const V one = hn::Add(hn::Zero(d), hn::Mul(w0, a));
  return hn::IfThenElse(hn::Eq(w1, hn::Zero(d)), one, hn::Add(one, hn::Mul(w1, b)));
}

void MixLines(const float* const* lines, const float* weights, size_t taps, float* to,
              size_t count) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (size_t t = 0; t < taps; ++t) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[t]), hn::LoadU(d, lines[t] + i)));
    }
    hn::StoreU(sum, d, to + i);
  });
}

// Computes vectors of results for lines of single elements.
void MixPairs(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
              float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const size_t lanes = hn::Lanes(d);
  const auto first = hn::Set(whole, base);
  size_t k = begin;
  for (; k + lanes <= end; k += lanes, to += lanes) {
    const auto a = hn::Sub(hn::LoadU(whole, taps.pair_from[0] + k), first);
    const auto b = hn::Sub(hn::LoadU(whole, taps.pair_from[1] + k), first);
    const auto sum =
        SumOfPair(d, hn::LoadU(d, taps.pair_weights[0] + k), hn::GatherIndex(d, line, a),
                  hn::LoadU(d, taps.pair_weights[1] + k), hn::GatherIndex(d, line, b));
    hn::StoreU(sum, d, to);
  }
  plain::mix_along(taps, k, end, base, line, 1, to);
}

void MixAlong(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
              size_t inner, float* to) {
  if (inner == 1 && taps.pair_from[0]) return MixPairs(taps, begin, end, base, line, to);
  for (size_t k = begin; k < end; ++k, to += inner) {
    const size_t first = taps.first[k], last = taps.first[k + 1];
    ForEachVector(inner, [=](auto d, size_t i) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (size_t t = first; t < last; ++t) {
        const float* const from = line + static_cast<size_t>(taps.from[t] - base) * inner;
        sum = hn::Add(sum, hn::Mul(hn::Set(d, taps.weights[t]), hn::LoadU(d, from + i)));
      }
      hn::StoreU(sum, d, to + i);
    });
  }
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(MixLines);
HWY_EXPORT(MixAlong);

void mix_lines(const float* const* lines, const float* weights, size_t taps, float* to,
               size_t count) {
  HWY_DYNAMIC_DISPATCH(MixLines)(lines, weights, taps, to, count);
}

void mix_along(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
               size_t inner, float* to) {
  HWY_DYNAMIC_DISPATCH(MixAlong)(taps, begin, end, base, line, inner, to);
}

namespace plain {

void mix_lines(const float* const* lines, const float* weights, size_t taps, float* to,
               size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (size_t t = 0; t < taps; ++t) sum += weights[t] * lines[t][i];
    to[i] = sum;
  }
}

void mix_along(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
               size_t inner, float* to) {
  for (size_t k = begin; k < end; ++k) {
    for (size_t i = 0; i < inner; ++i) {
      float sum = 0;
      for (size_t t = taps.first[k]; t < taps.first[k + 1]; ++t) {
        sum += taps.weights[t] * line[static_cast<size_t>(taps.from[t] - base) * inner + i];
      }
      *to++ = sum;
    }
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
