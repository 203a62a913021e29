// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {

void Scale(const float* from, float factor, float* to, size_t count) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, from + i)), d, to + i);
  });
}

// result[i] = f(result[i], factor * from[i])
template <class F>
HWY_INLINE void CombineBy(const float* from, float factor, float* result, size_t count, F f) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::Set(d, factor), hn::LoadU(d, from + i));
    hn::StoreU(f(hn::LoadU(d, result + i), scaled), d, result + i);
  });
}

void Combine(Combination combination, const float* from, float factor, float* result,
             size_t count) {
  switch (combination) {
    case Combination::kSum:
      return CombineBy(from, factor, result, count,
                       [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Combination::kProduct:
      return CombineBy(from, factor, result, count,
                       [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Combination::kMax:
      return CombineBy(from, factor, result, count,
                       [](auto a, auto b) HWY_ATTR { return MaxOf(a, b); });
  }
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
      return Zip(x, y, to, count, [](auto, auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
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
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Scale);
HWY_EXPORT(Combine);
HWY_EXPORT(Operate);

void scale(const float* from, float factor, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(Scale)(from, factor, to, count);
}

void combine(Combination combination, const float* from, float factor, float* result,
             size_t count) {
  HWY_DYNAMIC_DISPATCH(Combine)(combination, from, factor, result, count);
}

void operate(Operation operation, const float* x, const float* y, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(Operate)(operation, x, y, to, count);
}

namespace plain {
namespace {

float result_of(Operation operation, float x, float y) {
  switch (operation) {
    case Operation::kAdd:
      return x + y;
    case Operation::kDiv:
      return x / y;
    case Operation::kMax:
      return std::max(x, y);
    case Operation::kMin:
      return std::min(x, y);
    case Operation::kMul:
      return x * y;
    case Operation::kPrelu:
      return x > 0 ? x : x * y;
    case Operation::kSub:
      return x - y;
  }
  return x;
}

}  // namespace

void operate(Operation operation, const float* x, const float* y, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = result_of(operation, x[i], y[i]);
}

void scale(const float* from, float factor, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = factor * from[i];
}

void combine(Combination combination, const float* from, float factor, float* result,
             size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float scaled = factor * from[i];
    float& r = result[i];
    switch (combination) {
      case Combination::kSum:
        r += scaled;
        break;
      case Combination::kProduct:
        r *= scaled;
        break;
      case Combination::kMax:
        r = std::max(r, scaled);
        break;
    }
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
