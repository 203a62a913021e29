// SPDX-License-Identifier: Apache-2.0
// Helpers for files that Highway compiles once per target. Include this like Highway's own -inl.h
// files.

#if defined(DVNN_IMAGE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_IMAGE_BLOCKS_INL_H_
#undef DVNN_IMAGE_BLOCKS_INL_H_
#else
#define DVNN_IMAGE_BLOCKS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

/// Whether vectors of tag D have at most 16 bytes. Highway's macros for this have other names in
/// each version.
template <class D>
constexpr bool IsOneBlock() {
  return hwy::HWY_NAMESPACE::MaxLanes(D()) * sizeof(hwy::HWY_NAMESPACE::TFromD<D>) <= 16;
}

/// Returns a vector whose b-th 16 bytes are those at `from` + base[b].
template <class D, std::enable_if_t<IsOneBlock<D>()>* = nullptr>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadBlocks(D d, const uint8_t* HWY_RESTRICT from,
                                                 const uint32_t* HWY_RESTRICT base) {
  return hwy::HWY_NAMESPACE::LoadU(d, from + base[0]);
}
template <class D, std::enable_if_t<!IsOneBlock<D>()>* = nullptr>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadBlocks(D d, const uint8_t* HWY_RESTRICT from,
                                                 const uint32_t* HWY_RESTRICT base) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Half<D> half;
  return hn::Combine(d, LoadBlocks(half, from, base + hn::Lanes(half) / 16),
                     LoadBlocks(half, from, base));
}

#endif
}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
