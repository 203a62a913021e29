// SPDX-License-Identifier: Apache-2.0
// Array conversions, compiled once per instruction set by Highway and chosen at run time.
#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/convert_half.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Without an instruction for the conversion, Highway emulates it, but does not round ties to even.
// Those targets use the scalar code.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define DVNN_VECTOR_HALF 1
#else
#define DVNN_VECTOR_HALF 0
#endif

void FromFloat(const float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count) {
  size_t i = 0;
#if DVNN_VECTOR_HALF
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (; i + hn::Lanes(df) <= count; i += hn::Lanes(df)) {
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i)), dh,
               reinterpret_cast<hwy::float16_t*>(to + i));
  }
  if (i < count && count >= hn::Lanes(df)) {  // a last vector that overlaps the one before
    i = count - hn::Lanes(df);
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i)), dh,
               reinterpret_cast<hwy::float16_t*>(to + i));
    return;
  }
#endif
  for (; i < count; ++i) to[i] = float_to_half(from[i]);
}

void ToFloat(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count) {
  size_t i = 0;
#if DVNN_VECTOR_HALF
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (; i + hn::Lanes(df) <= count; i += hn::Lanes(df)) {
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i))),
               df, to + i);
  }
  if (i < count && count >= hn::Lanes(df)) {
    i = count - hn::Lanes(df);
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i))),
               df, to + i);
    return;
  }
#endif
  for (; i < count; ++i) to[i] = half_to_float(from[i]);
}

#undef DVNN_VECTOR_HALF
}  // namespace dvnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn {

HWY_EXPORT(FromFloat);
HWY_EXPORT(ToFloat);

void float_to_half(const float* from, half_t* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(FromFloat)(from, to, count);
}

void half_to_float(const half_t* from, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(ToFloat)(from, to, count);
}

}  // namespace dvnn
#endif  // HWY_ONCE
