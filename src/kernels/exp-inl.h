// SPDX-License-Identifier: Apache-2.0
// The exponential and what follows from it, part of each kernel's source that needs them. They
// multiply and add in steps, never fused, so that every instruction set gives the bits of the plain
// forms (exp_plain.h). Polynomials: Cephes expf() and tanhf(), within 2 units in the last place.

// A guard for each target, as Highway's own -inl headers have it.
#if defined(DVNN_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_KERNELS_EXP_INL_H
#undef DVNN_KERNELS_EXP_INL_H
#else
#define DVNN_KERNELS_EXP_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/exp_plain.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^n for whole numbers n of -126 to 127.
template <class D, class V>
HWY_INLINE V PowerOfTwo(D d, V n) {
  const hn::RebindToSigned<D> whole;
  const auto exponent = hn::Add(hn::ConvertTo(whole, n), hn::Set(whole, 127));
  return hn::BitCast(d, hn::ShiftLeft<23>(exponent));
}

// e^x = 2^n (1 + y), where y = e^r - 1 and |r| is at most half of log 2. NaN gives NaN in y.
template <class V>
struct ExpParts {
  V n, y;
};

template <class D, class V>
HWY_INLINE ExpParts<V> SplitExp(D d, V x) {
  // Both comparisons are false where x is NaN, and NaN stays.
  x = hn::IfThenElse(hn::Lt(hn::Set(d, exp_constants::kMost), x), hn::Set(d, exp_constants::kMost),
                     x);
  x = hn::IfThenElse(hn::Lt(x, hn::Set(d, exp_constants::kLeast)),
                     hn::Set(d, exp_constants::kLeast), x);
  const V n = hn::Round(hn::Mul(x, hn::Set(d, exp_constants::kLog2E)));
  V r = hn::Sub(x, hn::Mul(n, hn::Set(d, exp_constants::kLog2High)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, exp_constants::kLog2Low)));
  V p = hn::Set(d, exp_constants::kPolynomial[0]);
  for (int i = 1; i < exp_constants::kTerms; ++i) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, exp_constants::kPolynomial[i]));
  }
  return {n, hn::Add(hn::Mul(hn::Mul(p, r), r), r)};
}

template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  const auto parts = SplitExp(d, x);
  // In two steps, as 2^n need not be a number where the result is one.
  const V half = hn::Floor(hn::Mul(parts.n, hn::Set(d, 0.5f)));
  const V first = hn::Mul(hn::Add(parts.y, hn::Set(d, 1.0f)), PowerOfTwo(d, half));
  return hn::Mul(first, PowerOfTwo(d, hn::Sub(parts.n, half)));
}

// e^x - 1 for x of at most 0, also where it is small.
template <class D, class V>
HWY_INLINE V ExpMinusOne(D d, V x) {
  const auto parts =
      SplitExp(d, hn::IfThenElse(hn::Lt(x, hn::Set(d, -80.0f)), hn::Set(d, -80.0f), x));
  const V power = PowerOfTwo(d, parts.n);
  return hn::Add(hn::Mul(parts.y, power), hn::Sub(power, hn::Set(d, 1.0f)));
}

template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f), size = hn::Abs(x);
  const V power = Exp(d, hn::Mul(size, two));
  const V far = hn::CopySign(hn::Sub(one, hn::Div(two, hn::Add(power, one))), x);
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, exp_constants::kTanhPolynomial[0]);
  for (int i = 1; i < exp_constants::kTanhTerms; ++i) {
    p = hn::Add(hn::Mul(p, square), hn::Set(d, exp_constants::kTanhPolynomial[i]));
  }
  const V near = hn::Add(hn::Mul(hn::Mul(p, square), x), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, exp_constants::kTanhNear)), near, far);
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#endif
