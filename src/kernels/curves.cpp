// SPDX-License-Identifier: Apache-2.0
#include "kernels/curves.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/curves.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/exp-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {

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
        const auto share = hn::Add(hn::Div(x, hn::Set(d, 6.0f)), hn::Set(d, 0.5f));
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
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, a)));
      });
    case Curve::kReciprocal:
      return Map(from, to, count,
                 [](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); });
    case Curve::kSigmoid:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Sigmoid(d, x); });
    case Curve::kSoftplus:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Softplus(d, x); });
    case Curve::kSqrt:
      return Map(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Sqrt(x); });
    case Curve::kSwish:
      return Map(from, to, count, [=](auto d, auto x) HWY_ATTR {
        return hn::Mul(x, Sigmoid(d, hn::Mul(hn::Set(d, a), x)));
      });
    case Curve::kTanh:
      return Map(from, to, count, [](auto d, auto x) HWY_ATTR { return Tanh(d, x); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(ApplyCurve);

void apply(Curve curve, float a, float b, const float* from, float* to, size_t count) {
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
      return x > 0 ? x : x * a;
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
  }
  return x;
}

}  // namespace

void apply(Curve curve, float a, float b, const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = value(curve, a, b, from[i]);
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
