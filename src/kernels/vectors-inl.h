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

#include <cmath>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
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

// Calls f(tag, vectors, i) in the same way, for as many vectors side by side as the constant
// `vectors` says, whose sums do not wait for one another.
template <typename T = float, class F>
HWY_INLINE void ForEachVectors(size_t count, F f) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) f(d, std::integral_constant<size_t, 4>(), i);
  for (; i + 2 * lanes <= count; i += 2 * lanes) f(d, std::integral_constant<size_t, 2>(), i);
  ForEachVector<T>(count - i, [=](auto tag, size_t k)
                                  HWY_ATTR { f(tag, std::integral_constant<size_t, 1>(), i + k); });
}

// f of each lane of `a` and `b`, one after the other.
template <class D, class F>
HWY_INLINE hn::Vec<D> ByLane(D d, hn::Vec<D> a, hn::Vec<D> b, F f) {
  HWY_ALIGN float x[hn::MaxLanes(D())], y[hn::MaxLanes(D())];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  for (size_t i = 0; i < hn::Lanes(d); ++i) x[i] = f(x[i], y[i]);
  return hn::Load(d, x);
}

// a / b, rounded as IEEE 754 says. Vectors of 32-bit Arm have estimates alone.
template <class V>
HWY_INLINE V Divide(V a, V b) {
#if HWY_ARCH_ARM_V7
  return ByLane(hn::DFromV<V>(), a, b, [](float x, float y) { return x / y; });
#else
  return hn::Div(a, b);
#endif
}

// The square root, rounded as IEEE 754 says; see Divide().
template <class V>
HWY_INLINE V SquareRoot(V v) {
#if HWY_ARCH_ARM_V7
  return ByLane(hn::DFromV<V>(), v, v, [](float x, float) { return std::sqrt(x); });
#else
  return hn::Sqrt(v);
#endif
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

// std::max(x, 0): `x`, but at least 0. NaN stays, and so does the sign of a 0.
template <class D, class V>
HWY_INLINE V AtLeastZero(D d, V x) {
#if HWY_ARCH_X86
  return hn::Max(hn::Zero(d), x);  // the second operand where one is NaN or both are 0
#else
  return MaxOf(x, hn::Zero(d));
#endif
}

// `x`, but at least `least` and at most `most`; NaN stays.
template <class D, class V>
HWY_INLINE V Clamp(D d, V x, float least, float most) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  // The instructions return their second operand where one is NaN.
  return hn::Min(hn::Set(d, most), hn::Max(hn::Set(d, least), x));
#else
  x = hn::IfThenElse(hn::Lt(x, hn::Set(d, least)), hn::Set(d, least), x);
  return hn::IfThenElse(hn::Lt(hn::Set(d, most), x), hn::Set(d, most), x);
#endif
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
