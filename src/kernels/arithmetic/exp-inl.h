// SPDX-License-Identifier: Apache-2.0
// The exponential and functions computed from it, part of each kernel's source that needs them.
// They multiply and add in separate steps, never fused, so that every instruction set gives the
// bits of the plain forms (exp_plain.h). Polynomials: Cephes expf(), tanhf(), logf(), erff() and
// erfcf().

// A guard for each target, as in Highway's own -inl headers.
#if defined(DVNN_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_KERNELS_EXP_INL_H
#undef DVNN_KERNELS_EXP_INL_H
#else
#define DVNN_KERNELS_EXP_INL_H
#endif

#include <limits>

#include "hwy/highway.h"
#include "kernels/arithmetic/exp_plain.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns 2^n for whole numbers n of -126 to 127.
template <class D, class V>
HWY_INLINE V PowerOfTwo(D d, V n) {
  const hn::RebindToSigned<D> whole;
  const auto exponent = hn::Add(hn::ConvertTo(whole, n), hn::Set(whole, 127));
  return hn::BitCast(d, hn::ShiftLeft<23>(exponent));
}

// Splits e^x = 2^n (1 + y), where y = e^r - 1 and |r| is at most half of log 2. NaN gives NaN in y.
template <class V>
struct ExpParts {
  V n, y;
};

template <class D, class V>
HWY_INLINE ExpParts<V> SplitExp(D d, V x) {
  // Both comparisons are false for NaN, which stays.
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

// Returns e^x if 2^n is a normal number, for x of kLeast to 88: the bits of Exp() in half of its
// steps. Adding 1.5 x 2^23 rounds to a whole number, ties to even, and leaves it in the last bits.
template <class D, class V>
HWY_INLINE V NormalExp(D d, V x) {
  const hn::RebindToSigned<D> whole;
  const auto shift = hn::Set(d, 12582912.0f), one = hn::Set(d, 1.0f);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(d, exp_constants::kLog2E)), shift);
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(whole, shifted));
  const auto power = hn::BitCast(d, hn::Add(exponent, hn::BitCast(whole, one)));
  const V n = hn::Sub(shifted, shift);
  V r = hn::Sub(x, hn::Mul(n, hn::Set(d, exp_constants::kLog2High)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, exp_constants::kLog2Low)));
  V p = hn::Set(d, exp_constants::kPolynomial[0]);
  for (int i = 1; i < exp_constants::kTerms; ++i) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, exp_constants::kPolynomial[i]));
  }
  const V y = hn::Add(hn::Mul(hn::Mul(p, r), r), r);
  return hn::Mul(hn::Add(y, one), power);
}

template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  const auto parts = SplitExp(d, x);
  // Multiplies in two steps, as 2^n may be too large for a float even if the result is not.
  const V half = hn::Floor(hn::Mul(parts.n, hn::Set(d, 0.5f)));
  const V first = hn::Mul(hn::Add(parts.y, hn::Set(d, 1.0f)), PowerOfTwo(d, half));
  const V power = hn::Mul(first, PowerOfTwo(d, hn::Sub(parts.n, half)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, exp_constants::kLeast)), power);
}

// Returns the bits of Exp() for x of at most 0, or NaN, in half of its steps.
template <class D, class V>
HWY_INLINE V ExpOfNegative(D d, V x) {
  const V least = hn::Set(d, exp_constants::kLeast);
  const auto is_zero = hn::Lt(x, least);
  return hn::IfThenZeroElse(is_zero, NormalExp(d, hn::IfThenElse(is_zero, least, x)));
}

// Returns e^x - 1 for x of at most 0, precise for small x, too.
template <class D, class V>
HWY_INLINE V ExpMinusOne(D d, V x) {
  const auto parts =
      SplitExp(d, hn::IfThenElse(hn::Lt(x, hn::Set(d, -80.0f)), hn::Set(d, -80.0f), x));
  const V power = PowerOfTwo(d, parts.n);
  return hn::Add(hn::Mul(parts.y, power), hn::Sub(power, hn::Set(d, 1.0f)));
}

template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f), least = hn::Set(d, exp_constants::kLeast);
  // Elements whose result is 0 are not divided, as the quotient is below the normal numbers.
  const auto is_zero = hn::Lt(x, least);
  // Beyond the second end the sum is 1.
  const V power = NormalExp(d, hn::Neg(Clamp(d, x, exp_constants::kLeast, -exp_constants::kLeast)));
  return hn::IfThenZeroElse(is_zero, Divide(one, hn::Add(one, power)));
}

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f), size = hn::Abs(x);
  const V power = NormalExp(d, hn::Mul(Clamp(d, size, 0, exp_constants::kTanhMost), two));
  const V far = hn::CopySign(hn::Sub(one, Divide(two, hn::Add(power, one))), x);
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, exp_constants::kTanhPolynomial[0]);
  for (int i = 1; i < exp_constants::kTanhTerms; ++i) {
    p = hn::Add(hn::Mul(p, square), hn::Set(d, exp_constants::kTanhPolynomial[i]));
  }
  const V near = hn::Add(hn::Mul(hn::Mul(p, square), x), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, exp_constants::kTanhNear)), near, far);
}

template <class D, class V, int kTerms>
HWY_INLINE V Polynomial(D d, const float (&factors)[kTerms], V x) {
  V p = hn::Set(d, factors[0]);
  for (int i = 1; i < kTerms; ++i) p = hn::Add(hn::Mul(p, x), hn::Set(d, factors[i]));
  return p;
}

// For normal numbers above 0.
template <class D, class V>
HWY_INLINE V LogOfNormal(D d, V x) {
  using namespace exp_constants;
  const hn::RebindToSigned<D> whole;
  const auto bits = hn::BitCast(whole, x);
  const auto power = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(whole, kHalfRootBits)));
  const V m = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(power))), hn::Set(d, 1.0f));
  const V square = hn::Mul(m, m), n = hn::ConvertTo(d, power);
  V y = hn::Mul(hn::Mul(Polynomial(d, kLogPolynomial, m), square), m);
  y = hn::Add(y, hn::Mul(n, hn::Set(d, kLog2Low)));
  y = hn::Sub(y, hn::Mul(hn::Set(d, 0.5f), square));
  return hn::Add(hn::Add(m, y), hn::Mul(n, hn::Set(d, kLog2High)));
}

template <class D, class V>
HWY_INLINE V Log(D d, V x) {
  using namespace exp_constants;
  const V zero = hn::Zero(d), infinite = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto small = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V normal = hn::IfThenElse(small, hn::Mul(x, hn::Set(d, kSubnormalPower)), x);
  V y = LogOfNormal(d, normal);
  y = hn::IfThenElse(small, hn::Sub(y, hn::Set(d, kSubnormalLog)), y);
  y = hn::IfThenElse(hn::Eq(x, infinite), x, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinite), y);
  // A NaN, too, fails the comparison.
  return hn::IfThenElse(hn::Ge(x, zero), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

template <class D, class V>
HWY_INLINE V Softplus(D d, V x) {
  const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const V u = ExpOfNegative(d, hn::Neg(hn::Abs(x))), w = hn::Add(u, one);
  const V rest = Divide(hn::Sub(u, hn::Sub(w, one)), w);
  return hn::Add(hn::IfThenElse(hn::Lt(zero, x), x, zero), hn::Add(LogOfNormal(d, w), rest));
}

template <class D, class V>
HWY_INLINE V Mish(D d, V x) {
  const V most = hn::Set(d, exp_constants::kMishMost), two = hn::Set(d, 2.0f);
  const V w = Exp(d, hn::IfThenElse(hn::Lt(most, x), most, x));
  const V n = hn::Mul(w, hn::Add(w, two));
  return hn::Mul(x, Divide(n, hn::Add(n, two)));
}

// Returns 1 - erf(x), for x of at least 1.
template <class D, class V>
HWY_INLINE V Erfc(D d, V x) {
  using namespace exp_constants;
  const V most = hn::Set(d, kErfcMost);
  const auto is_zero = hn::Gt(x, most);
  x = hn::IfThenElse(is_zero, most, x);
  const V inverse = Divide(hn::Set(d, 1.0f), x), square = hn::Mul(inverse, inverse);
  const V p = hn::IfThenElse(hn::Lt(x, hn::Set(d, 2.0f)), Polynomial(d, kErfcPolynomial, square),
                             Polynomial(d, kErfcFarPolynomial, square));
  const V rest = hn::Mul(hn::Mul(ExpOfNegative(d, hn::Neg(hn::Mul(x, x))), inverse), p);
  return hn::IfThenZeroElse(is_zero, rest);
}

template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  const V one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const V near = hn::Mul(x, Polynomial(d, exp_constants::kErfPolynomial, hn::Mul(x, x)));
  const V far = hn::CopySign(hn::Sub(one, Erfc(d, size)), x);
  return hn::IfThenElse(hn::Lt(size, one), near, far);
}

template <class D, class V>
HWY_INLINE V Gelu(D d, V x) {
  const V one = hn::Set(d, 1.0f), z = hn::Mul(x, hn::Set(d, exp_constants::kHalfRoot));
  const V size = hn::Abs(z), rest = Erfc(d, size);
  const V near =
      hn::Add(hn::Mul(z, Polynomial(d, exp_constants::kErfPolynomial, hn::Mul(z, z))), one);
  const V far = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), rest, hn::Sub(hn::Set(d, 2.0f), rest));
  return hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), hn::IfThenElse(hn::Lt(size, one), near, far));
}

// x / 2 (1 + tanh(u)) is x sigmoid(2 u).
template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  using namespace exp_constants;
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V u = hn::Add(x, hn::Mul(hn::Set(d, kGeluCube), cube));
  return hn::Mul(x, Sigmoid(d, hn::Mul(hn::Set(d, kRootEightOverPi), u)));
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
