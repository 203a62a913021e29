// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/elementwise.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/elementwise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

void Scale(const float* from, float factor, float* to, size_t count) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, from + i)), d, to + i);
  });
}

// to[i] = f(tag, x[i], y[i])
template <class F>
HWY_INLINE void Zip(const float* x, const float* y, float* to, size_t count, F f) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    hn::StoreU(f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, to + i);
  });
}

void Operate(Operation operation, const float* x, const float* y, float* to, size_t count) {
  switch (operation) {
    case Operation::kAdd:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Operation::kDiv:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return Divide(a, b); });
    case Operation::kMax:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return MaxOf(a, b); });
    case Operation::kMin:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return MinOf(a, b); });
    case Operation::kMul:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Operation::kPrelu:
      return Zip(x, y, to, count, [](auto d, auto a, auto b) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(a, b));
      });
    case Operation::kSub:
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    default:  // excluded by is_vectored()
      return;
  }
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Scale);
HWY_EXPORT(Operate);

void scale(const float* from, float factor, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(Scale)(from, factor, to, count);
}

void operate(Operation operation, const float* x, const float* y, float* to, size_t count) {
  if (!is_vectored(operation)) return plain::operate(operation, x, y, to, count);
  HWY_DYNAMIC_DISPATCH(Operate)(operation, x, y, to, count);
}

namespace plain {
namespace {

float truth(bool is) {
  return is ? 1.0f : 0.0f;
}

}  // namespace

void operate(Operation operation, const float* x, const float* y, float* to, size_t count) {
  // The switch is outside of the loop.
  const auto zip = [=](auto f) {
    for (size_t i = 0; i < count; ++i) to[i] = f(x[i], y[i]);
  };
  switch (operation) {
    case Operation::kAdd:
      return zip([](float a, float b) { return a + b; });
    case Operation::kDiv:
      return zip([](float a, float b) { return a / b; });
    case Operation::kMax:
      return zip([](float a, float b) { return std::max(a, b); });
    case Operation::kMin:
      return zip([](float a, float b) { return std::min(a, b); });
    case Operation::kMul:
      return zip([](float a, float b) { return a * b; });
    case Operation::kPrelu:
      return zip([](float a, float b) { return a > 0 ? a : a * b; });
    case Operation::kSub:
      return zip([](float a, float b) { return a - b; });
    case Operation::kAnd:
      return zip([](float a, float b) { return truth(a != 0 && b != 0); });
    case Operation::kEqual:
      return zip([](float a, float b) { return truth(a == b); });
    case Operation::kFmod:
      return zip([](float a, float b) { return std::fmod(a, b); });
    case Operation::kGreater:
      return zip([](float a, float b) { return truth(a > b); });
    case Operation::kGreaterOrEqual:
      return zip([](float a, float b) { return truth(a >= b); });
    case Operation::kLess:
      return zip([](float a, float b) { return truth(a < b); });
    case Operation::kLessOrEqual:
      return zip([](float a, float b) { return truth(a <= b); });
    case Operation::kMod:
      return zip([](float a, float b) { return a - b * std::floor(a / b); });
    case Operation::kOr:
      return zip([](float a, float b) { return truth(a != 0 || b != 0); });
    case Operation::kPow:
      return zip([](float a, float b) { return std::pow(a, b); });
    case Operation::kTruncDiv:
      return zip([](float a, float b) { return std::trunc(a / b); });
    case Operation::kXor:
      return zip([](float a, float b) { return truth((a != 0) != (b != 0)); });
  }
}

void scale(const float* from, float factor, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = factor * from[i];
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
