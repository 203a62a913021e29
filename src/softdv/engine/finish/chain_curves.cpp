// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/chain.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/finish/chain_curves.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"
#include "softdv/engine/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 1 / (1 + 2^kx) for `x` of at least -limit and at most `limit`, which keep 2^kx a normal number.
// 2^f of f = -1/2..1/2 is the polynomial of the least relative error, 7.5e-8. Adding 1.5 x 2^23
// rounds to a whole number and leaves it in the last bits, from where it goes to the exponent.
template <class D, class V>
HWY_INLINE V Share(D d, V x, float k, float limit) {
  constexpr float kPower[] = {1.3276471e-3f, 9.675541e-3f,  5.550713e-2f,
                              2.402212e-1f,  6.9314694e-1f, 1.0000001f};
  const hn::RebindToSigned<D> whole;
  const auto shift = hn::Set(d, 12582912.0f), one = hn::Set(d, 1.0f), factor = hn::Set(d, k);
  x = kernels::HWY_NAMESPACE::Clamp(d, x, -limit, limit);
  const V shifted = hn::MulAdd(x, factor, shift);
  const V f = hn::MulSub(x, factor, hn::Sub(shifted, shift));
  V p = hn::Set(d, kPower[0]);
  for (int i = 1; i < 6; ++i) p = hn::MulAdd(p, f, hn::Set(d, kPower[i]));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(whole, shifted));
  const V power = hn::BitCast(d, hn::Add(hn::BitCast(whole, p), exponent));
  return kernels::HWY_NAMESPACE::Divide(one, hn::Add(one, power));
}

// The normal distribution at `x`, whose logit to base 2 is x times a polynomial of x^2: that of the
// least error in relation to 2^-20 of x times the distribution, or to 2^-34 where that is less;
// results are within 2^-18. Beyond the 5.8 for which it was made, the logit goes on along a line,
// where results round to 0 or to x.
template <class D, class V>
HWY_INLINE V NormalShare(D d, V x) {
  constexpr float kFar = 5.8f, kMost = 125;
  constexpr float kLogit[] = {1.69360478e-12f, -2.60317101e-10f, 1.71621881e-8f,
                              -6.33797754e-7f, 1.41106239e-5f,   -1.74307279e-4f,
                              -5.37697306e-5f, 1.04788207e-1f,   2.30222464f};
  const V square = hn::Min(hn::Mul(x, x), hn::Set(d, kFar * kFar));
  V p = hn::Set(d, kLogit[0]);
  for (size_t i = 1; i < 9; ++i) p = hn::MulAdd(p, square, hn::Set(d, kLogit[i]));
  return Share(d, hn::Mul(x, p), -1.0f, kMost);
}

// to[i] = f(tag, from[i])
template <class F>
HWY_INLINE void MapTo(const float* from, size_t count, float* to, half_t* halves, F f) {
  using kernels::HWY_NAMESPACE::ForEachVector;
  if (halves) {
    return ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
      StoreHalves(d, f(d, hn::LoadU(d, from + i)), halves + i);
    });
  }
  ForEachVector(count, [=](auto d, size_t i)
                           HWY_ATTR { hn::StoreU(f(d, hn::LoadU(d, from + i)), d, to + i); });
}

void ShortCurve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                half_t* halves) {
  constexpr float kLog2E = 1.44269504f, kMost = 87;
  constexpr float kGeluCube = 0.044715f, kRootEightOverPi = 1.59576912f;
  if (curve == kernels::Curve::kSigmoid) {
    return MapTo(from, count, to, halves,
                 [=](auto d, auto x) HWY_ATTR { return Share(d, x, -kLog2E, kMost); });
  }
  if (curve == kernels::Curve::kSwish) {
    const float k = -a * kLog2E, limit = kMost / std::fabs(a);
    return MapTo(from, count, to, halves,
                 [=](auto d, auto x) HWY_ATTR { return hn::Mul(x, Share(d, x, k, limit)); });
  }
  if (curve == kernels::Curve::kGelu) {
    return MapTo(from, count, to, halves, [=](auto d, auto x) HWY_ATTR {
      return hn::Mul(hn::Mul(x, hn::Set(d, a)), NormalShare(d, x));
    });
  }
  // x / 2 (1 + tanh(u)) is x sigmoid(2 u).
  MapTo(from, count, to, halves, [=](auto d, auto x) HWY_ATTR {
    const auto cube = hn::Mul(hn::Mul(x, x), x);
    const auto u = hn::MulAdd(hn::Set(d, kGeluCube), cube, x);
    return hn::Mul(x, Share(d, u, -kLog2E * kRootEightOverPi, kMost / kRootEightOverPi));
  });
}

void ShortGate(const Gate& gate, const float* from, size_t count, float* to, half_t* halves) {
  const Gate by = gate;  // which results cannot overlap
  MapTo(from, count, to, halves, [=](auto d, auto x) HWY_ATTR {
    const auto line = hn::MulAdd(x, hn::Set(d, by.a), hn::Set(d, by.b));
    return hn::Mul(x, kernels::HWY_NAMESPACE::Clamp(d, line, by.least, by.most));
  });
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(ShortCurve);
HWY_EXPORT(ShortGate);

}  // namespace

bool is_short(kernels::Curve curve) {
  using kernels::Curve;
  return curve == Curve::kSigmoid || curve == Curve::kSwish || curve == Curve::kGelu ||
         curve == Curve::kGeluTanh;
}

void short_curve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                 half_t* halves) {
  HWY_DYNAMIC_DISPATCH(ShortCurve)(curve, a, from, count, to, halves);
}

void short_gate(const Gate& gate, const float* from, size_t count, float* to, half_t* halves) {
  HWY_DYNAMIC_DISPATCH(ShortGate)(gate, from, count, to, halves);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
