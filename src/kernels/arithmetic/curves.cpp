// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/elementwise.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/curves.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/arithmetic/exp-inl.h"
#include "kernels/vectors-inl.h"
#include "tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// to[i] = f(tag, from[i])
template <class F>
HWY_INLINE void Map(const float* from, float* to, size_t count, F f) {
  ForEachVector(count, [=](auto d, size_t i)
                           HWY_ATTR { hn::StoreU(f(d, hn::LoadU(d, from + i)), d, to + i); });
}

// Clamps to at least `least`, at most `most`.
template <class D, class V>
HWY_INLINE V Between(D d, V x, float least, float most) {
  return MinOf(MaxOf(x, hn::Set(d, least)), hn::Set(d, most));
}

void ApplyCurve(Curve curve, float a, float b, const float* from, float* to, size_t count) {
  switch (curve) {
    case Curve::kAbs:
      return Map(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Abs(x); });
    case Curve::kClip:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR { return Between(d, x, a, b); });
    case Curve::kElu:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        const auto below = hn::Mul(hn::Set(d, a), ExpMinusOne(d, MinOf(x, hn::Zero(d))));
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
      });
    case Curve::kErf:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Erf(d, x); });
    case Curve::kExp:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Exp(d, x); });
    case Curve::kGelu:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Gelu(d, x); });
    case Curve::kGeluTanh:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return GeluTanh(d, x); });
    case Curve::kHardSigmoid:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return Between(d, hn::Add(hn::Mul(hn::Set(d, a), x), hn::Set(d, b)), 0, 1);
      });
    case Curve::kHardSwish:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR {
        const auto share = hn::Add(Divide(x, hn::Set(d, 6.0f)), hn::Set(d, 0.5f));
        return hn::Mul(x, Between(d, share, 0, 1));
      });
    case Curve::kLine:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return hn::Add(hn::Mul(hn::Set(d, a), x), hn::Set(d, b));
      });
    case Curve::kLog:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Log(d, x); });
    case Curve::kMish:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Mish(d, x); });
    case Curve::kRelu:
      if (a == 0) {
        return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return AtLeastZero(d, x); });
      }
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, a)));
      });
    case Curve::kReciprocal:
      return Map(from, to, count,
                 [](auto d, auto x) HWY_ATTR { return Divide(hn::Set(d, 1.0f), x); });
    case Curve::kSigmoid:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Sigmoid(d, x); });
    case Curve::kSoftplus:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Softplus(d, x); });
    case Curve::kSqrt:
      return Map(from, to, count, [](auto, auto x) HWY_ATTR { return SquareRoot(x); });
    case Curve::kSwish:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return hn::Mul(x, Sigmoid(d, hn::Mul(hn::Set(d, a), x)));
      });
    case Curve::kTanh:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Tanh(d, x); });
    default:  // excluded by is_vectored()
      return;
  }
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(ApplyCurve);

void apply(Curve curve, float a, float b, const float* from, float* to, size_t count) {
  if (!is_vectored(curve)) return plain::apply(curve, a, b, from, to, count);
  HWY_DYNAMIC_DISPATCH(ApplyCurve)(curve, a, b, from, to, count);
}

namespace plain {
namespace {

float between(float x, float least, float most) {
  return std::min(std::max(x, least), most);
}

float value(Curve curve, float a, float b, float x) {
  switch (curve) {
    case Curve::kAbs:
      return std::fabs(x);
    case Curve::kClip:
      return between(x, a, b);
    case Curve::kElu:
      return x > 0 ? x : a * exp_minus_one(x);
    case Curve::kErf:
      return plain::erf(x);
    case Curve::kExp:
      return plain::exp(x);
    case Curve::kGelu:
      return plain::gelu(x);
    case Curve::kGeluTanh:
      return plain::gelu_tanh(x);
    case Curve::kHardSigmoid:
      return between(a * x + b, 0, 1);
    case Curve::kHardSwish:
      return x * between(x / 6 + 0.5f, 0, 1);
    case Curve::kLine:
      return a * x + b;
    case Curve::kLog:
      return plain::log(x);
    case Curve::kMish:
      return plain::mish(x);
    case Curve::kRelu:
      return a == 0 ? std::max(x, 0.0f) : x > 0 ? x : x * a;
    case Curve::kReciprocal:
      return 1 / x;
    case Curve::kSigmoid:
      return plain::sigmoid(x);
    case Curve::kSoftplus:
      return plain::softplus(x);
    case Curve::kSqrt:
      return std::sqrt(x);
    case Curve::kSwish:
      return x * plain::sigmoid(a * x);
    case Curve::kTanh:
      return plain::tanh(x);
    default:
      return x;  // computed by apply_library()
  }
}

// Computes the curves that are not vectored; the switch is outside of the loop.
void apply_library(Curve curve, float a, float b, const float* from, float* to, size_t count) {
  const auto map = [=](auto f) {
    for (size_t i = 0; i < count; ++i) to[i] = f(from[i]);
  };
  switch (curve) {
    case Curve::kAcos:
      return map([](float x) { return std::acos(x); });
    case Curve::kAcosh:
      return map([](float x) { return std::acosh(x); });
    case Curve::kAsin:
      return map([](float x) { return std::asin(x); });
    case Curve::kAsinh:
      return map([](float x) { return std::asinh(x); });
    case Curve::kAtan:
      return map([](float x) { return std::atan(x); });
    case Curve::kAtanh:
      return map([](float x) { return std::atanh(x); });
    case Curve::kCeil:
      return map([](float x) { return std::ceil(x); });
    case Curve::kCelu:
      return map(
          [=](float x) { return std::max(x, 0.0f) + std::min(a * std::expm1(x / a), 0.0f); });
    case Curve::kCos:
      return map([](float x) { return std::cos(x); });
    case Curve::kCosh:
      return map([](float x) { return std::cosh(x); });
    case Curve::kFloor:
      return map([](float x) { return std::floor(x); });
    case Curve::kHalf:
      return map([](float x) { return half_to_float(float_to_half(x)); });
    case Curve::kIsNan:
      return map([](float x) { return std::isnan(x) ? 1.0f : 0.0f; });
    case Curve::kNot:
      return map([](float x) { return x == 0 ? 1.0f : 0.0f; });
    case Curve::kRound:
      return map([](float x) { return std::nearbyint(x); });
    case Curve::kSelu:
      return map([=](float x) { return b * (x > 0 ? x : a * std::expm1(x)); });
    case Curve::kShrink:
      return map([=](float x) { return x < -b ? x + a : x > b ? x - a : 0.0f; });
    case Curve::kSign:
      return map([](float x) { return static_cast<float>((x > 0) - (x < 0)); });
    case Curve::kSin:
      return map([](float x) { return std::sin(x); });
    case Curve::kSinh:
      return map([](float x) { return std::sinh(x); });
    case Curve::kSoftsign:
      return map([](float x) { return x / (1 + std::fabs(x)); });
    case Curve::kTan:
      return map([](float x) { return std::tan(x); });
    case Curve::kThresholdedRelu:
      return map([=](float x) { return x > a ? x : 0.0f; });
    default:
      return map([](float x) { return std::trunc(x); });
  }
}

}  // namespace

void apply(Curve curve, float a, float b, const float* from, float* to, size_t count) {
  if (!is_vectored(curve)) return apply_library(curve, a, b, from, to, count);
  for (size_t i = 0; i < count; ++i) to[i] = value(curve, a, b, from[i]);
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
