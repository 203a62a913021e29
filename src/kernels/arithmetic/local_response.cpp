// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/reductions.h"

#include <cmath>

#ifndef DVNN_KERNELS_LOCAL_RESPONSE_ONCE
#define DVNN_KERNELS_LOCAL_RESPONSE_ONCE
namespace dvnn::kernels {

constexpr float kThreeQuarters = 0.75f;

}  // namespace dvnn::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/local_response.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

void NormaliseLocal(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                    const float* own, float* to, size_t count) {
  const float bias = by.bias, factor = by.factor;
  const bool roots = by.beta == kThreeQuarters;
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (size_t k = 0; k < lines; ++k) {
      const auto v = hn::LoadU(d, first + k * stride + i);
      sum = hn::Add(sum, hn::Mul(v, v));
    }
    const auto base = hn::Add(hn::Set(d, bias), hn::Mul(hn::Set(d, factor), sum));
    if (!roots) return hn::StoreU(base, d, to + i);
    const auto root = SquareRoot(base);
    hn::StoreU(Divide(hn::LoadU(d, own + i), hn::Mul(root, SquareRoot(root))), d, to + i);
  });
  if (roots) return;
  for (size_t i = 0; i < count; ++i) to[i] = own[i] * std::pow(to[i], -by.beta);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(NormaliseLocal);

void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(NormaliseLocal)(by, first, stride, lines, own, to, count);
}

namespace plain {

void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (size_t k = 0; k < lines; ++k) sum += first[k * stride + i] * first[k * stride + i];
    const float base = by.bias + by.factor * sum;
    const float root = std::sqrt(base);
    to[i] = by.beta == kThreeQuarters ? own[i] / (root * std::sqrt(root))
                                      : own[i] * std::pow(base, -by.beta);
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
