// SPDX-License-Identifier: Apache-2.0
// Vectors from and to binary16, in sources that are compiled for every instruction set.

// A guard for each target, as in Highway's own -inl headers.
#if defined(DVNN_SOFTDV_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_SOFTDV_HALVES_INL_H
#undef DVNN_SOFTDV_HALVES_INL_H
#else
#define DVNN_SOFTDV_HALVES_INL_H
#endif

#include "hwy/highway.h"
#include "tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As in tensor/convert_half.cpp: Highway rounds differently on targets without conversion
// instructions.
template <class D>
HWY_INLINE hn::Vec<D> LoadHalves(D d, const half_t* from) {
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
#else
  float values[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) values[i] = half_to_float(from[i]);
  return hn::LoadU(d, values);
#endif
}

template <class D>
HWY_INLINE void StoreHalves(HWY_MAYBE_UNUSED D d, hn::Vec<D> from, half_t* to) {
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
  const hn::Rebind<hwy::float16_t, D> halves;
  hn::StoreU(hn::DemoteTo(halves, from), halves, reinterpret_cast<hwy::float16_t*>(to));
#else
  float values[hn::MaxLanes(D())];
  hn::StoreU(from, d, values);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) to[i] = float_to_half(values[i]);
#endif
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
