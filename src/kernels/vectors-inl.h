// SPDX-License-Identifier: Apache-2.0
// Part of each kernel's source, and of the software device's, compiled for every instruction set:
// how arrays are walked.

// A guard for each target, as Highway's own -inl headers have it.
#if defined(DVNN_KERNELS_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_KERNELS_VECTORS_INL_H
#undef DVNN_KERNELS_VECTORS_INL_H
#else
#define DVNN_KERNELS_VECTORS_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(tag, i) for whole vectors of `count` elements, floats if not named, then for shorter
// ones, so that they cover 0..count-1 exactly: a kernel has one body for all. Eight is a chunk of
// the device's channels.
template <typename T = float, class F>
HWY_INLINE void ForEachVector(size_t count, F f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 8> chunk;
  const hn::CappedTag<T, 1> one;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) f(d, i);
  for (; i + hn::Lanes(chunk) <= count; i += hn::Lanes(chunk)) f(chunk, i);
  for (; i < count; ++i) f(one, i);
}

// a < b ? b : a in each lane, which is std::max(a, b) to the last bit, also with NaN.
template <class V>
HWY_INLINE V MaxOf(V a, V b) {
  return hn::IfThenElse(hn::Lt(a, b), b, a);
}

// b < a ? b : a in each lane: std::min(a, b).
template <class V>
HWY_INLINE V MinOf(V a, V b) {
  return hn::IfThenElse(hn::Lt(b, a), b, a);
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#endif
