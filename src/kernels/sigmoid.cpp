// SPDX-License-Identifier: Apache-2.0
// The exponential stays the C library's, one float at a time, as results keep its bits.
#include "kernels/sigmoid.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sigmoid.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels {
namespace HWY_NAMESPACE {

void Sigmoid(const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = std::exp(-from[i]);
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    const auto one = hn::Set(d, 1.0f);
    hn::StoreU(hn::Div(one, hn::Add(one, hn::LoadU(d, to + i))), d, to + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Sigmoid);

void sigmoid(const float* from, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(Sigmoid)(from, to, count);
}

namespace plain {

void sigmoid(const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = 1.0f / (1.0f + std::exp(-from[i]));
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
