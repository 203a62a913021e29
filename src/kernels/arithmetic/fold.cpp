// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/reductions.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/fold.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || !HWY_HAVE_FLOAT64

void FoldLines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
               size_t count) {
  plain::fold_lines(fold, first, stride, lines, to, count);
}

#else

template <class F>
HWY_INLINE void FoldBy(const float* first, size_t stride, size_t lines, double* to, size_t count,
                       F f) {
  ForEachVectors<double>(count, [=](auto d, auto vectors, size_t i) HWY_ATTR {
    constexpr size_t kVectors = decltype(vectors)::value;
    const hn::Rebind<float, decltype(d)> narrow;
    const size_t lanes = hn::Lanes(d);
    hn::Vec<decltype(d)> made[kVectors];
    for (size_t v = 0; v < kVectors; ++v) made[v] = hn::LoadU(d, to + i + v * lanes);
    for (size_t k = 0; k < lines; ++k) {
      for (size_t v = 0; v < kVectors; ++v) {
        const float* const at = first + k * stride + i + v * lanes;
        made[v] = f(made[v], hn::PromoteTo(d, hn::LoadU(narrow, at)));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(made[v], d, to + i + v * lanes);
  });
}

void FoldLines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
               size_t count) {
  switch (fold) {
    case Fold::kSum:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return hn::Add(a, x); });
    case Fold::kSizes:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return hn::Add(a, hn::Abs(x)); });
    case Fold::kSquares:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return hn::Add(a, hn::Mul(x, x)); });
    case Fold::kProduct:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return hn::Mul(a, x); });
    case Fold::kLargest:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return MaxOf(a, x); });
    case Fold::kSmallest:
      return FoldBy(first, stride, lines, to, count,
                    [](auto a, auto x) HWY_ATTR { return MinOf(a, x); });
  }
}

#endif

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(FoldLines);

void fold_lines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
                size_t count) {
  HWY_DYNAMIC_DISPATCH(FoldLines)(fold, first, stride, lines, to, count);
}

namespace plain {
namespace {

double folded(Fold fold, double made, double x) {
  switch (fold) {
    case Fold::kSum:
      return made + x;
    case Fold::kSizes:
      return made + std::fabs(x);
    case Fold::kSquares:
      return made + x * x;
    case Fold::kProduct:
      return made * x;
    case Fold::kLargest:
      return std::max(made, x);
    case Fold::kSmallest:
      return std::min(made, x);
  }
  return made;
}

}  // namespace

void fold_lines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
                size_t count) {
  for (size_t k = 0; k < lines; ++k) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = folded(fold, to[i], static_cast<double>(first[k * stride + i]));
    }
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
