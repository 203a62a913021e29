// SPDX-License-Identifier: Apache-2.0
#include "image/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/colour.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U8 = hn::Rebind<uint8_t, F32>;

// Rounds and clamps to 0..255.
HWY_INLINE hn::Vec<I32> ToLevel(hn::Vec<F32> value) {
  const F32 d;
  return hn::NearestInt(hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f)));
}

HWY_INLINE void StoreGray(hn::Vec<I32> levels, uint8_t* gray) {
  hn::StoreU(hn::DemoteTo(U8(), levels), U8(), gray);
}

// Stores one pixel per lane.
HWY_INLINE void StorePixels(hn::Vec<I32> r, hn::Vec<I32> g, hn::Vec<I32> b, uint8_t* pixels) {
  const auto packed = hn::Or(hn::Or(r, hn::ShiftLeft<8>(g)), hn::ShiftLeft<16>(b));
  hn::StoreU(packed, I32(), reinterpret_cast<int32_t*>(pixels));
}

template <bool kPairs>
HWY_INLINE void YuvToPixelsOf(const YuvRow row, const YuvMatrix m, size_t count,
                              uint8_t* HWY_RESTRICT pixels) {
  const F32 d;
  for (size_t x = 0; x < count; x += hn::Lanes(d)) {
    auto u = hn::Zero(d), v = u;
    if (kPairs) {
      hn::LoadInterleaved2(d, row.u + 2 * x, u, v);
    } else {
      u = hn::LoadU(d, row.u + x);
      v = hn::LoadU(d, row.v + x);
    }
    const auto luma = hn::Mul(hn::LoadU(d, row.y + x), hn::Set(d, m.y));
    const auto r = hn::MulAdd(v, hn::Set(d, m.rv), hn::Add(luma, hn::Set(d, m.r0)));
    const auto red_part = hn::MulAdd(v, hn::Set(d, m.gv), hn::Add(luma, hn::Set(d, m.g0)));
    const auto g = hn::MulAdd(u, hn::Set(d, m.gu), red_part);
    const auto b = hn::MulAdd(u, hn::Set(d, m.bu), hn::Add(luma, hn::Set(d, m.b0)));
    StorePixels(ToLevel(r), ToLevel(g), ToLevel(b), pixels + 4 * x);
  }
}

void YuvToPixels(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* pixels) {
  if (row.v) {
    YuvToPixelsOf<false>(row, matrix, count, pixels);
  } else {
    YuvToPixelsOf<true>(row, matrix, count, pixels);
  }
}

void YuvToGray(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* gray) {
  const F32 d;
  const auto scale = hn::Set(d, matrix.y), offset = hn::Set(d, matrix.luma0);
  for (size_t x = 0; x < count; x += hn::Lanes(d)) {
    StoreGray(ToLevel(hn::MulAdd(hn::LoadU(d, row.y + x), scale, offset)), gray + x);
  }
}

void GrayToPixels(const uint8_t* HWY_RESTRICT gray, size_t count, uint8_t* HWY_RESTRICT pixels) {
  for (size_t x = 0; x < count; x += hn::Lanes(F32())) {
    const auto level = hn::PromoteTo(I32(), hn::LoadU(U8(), gray + x));
    StorePixels(level, level, level, pixels + 4 * x);
  }
}

// Returns byte kIndex of each lane.
template <int kIndex>
HWY_INLINE hn::Vec<F32> ByteOf(hn::Vec<I32> pixels) {
  const auto low = hn::And(hn::ShiftRight<8 * kIndex>(pixels), hn::Set(I32(), 255));
  return hn::ConvertTo(F32(), low);
}

void PixelsToGray(const uint8_t* HWY_RESTRICT pixels, size_t count, uint8_t* HWY_RESTRICT gray) {
  const F32 d;
  for (size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto pixel = hn::LoadU(I32(), reinterpret_cast<const int32_t*>(pixels + 4 * x));
    const auto blue_part = hn::Mul(ByteOf<2>(pixel), hn::Set(d, 0.114f));
    const auto rest = hn::MulAdd(ByteOf<1>(pixel), hn::Set(d, 0.587f), blue_part);
    StoreGray(ToLevel(hn::MulAdd(ByteOf<0>(pixel), hn::Set(d, 0.299f), rest)), gray + x);
  }
}

void RoundToLevels(const float* HWY_RESTRICT values, size_t count, uint8_t* HWY_RESTRICT levels) {
  for (size_t x = 0; x < count; x += hn::Lanes(F32())) {
    StoreGray(ToLevel(hn::LoadU(F32(), values + x)), levels + x);
  }
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(YuvToPixels);
HWY_EXPORT(YuvToGray);
HWY_EXPORT(GrayToPixels);
HWY_EXPORT(PixelsToGray);
HWY_EXPORT(RoundToLevels);

void yuv_to_pixels(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* pixels) {
  HWY_DYNAMIC_DISPATCH(YuvToPixels)(row, matrix, count, pixels);
}

void yuv_to_gray(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* gray) {
  HWY_DYNAMIC_DISPATCH(YuvToGray)(row, matrix, count, gray);
}

void gray_to_pixels(const uint8_t* gray, size_t count, uint8_t* pixels) {
  HWY_DYNAMIC_DISPATCH(GrayToPixels)(gray, count, pixels);
}

void pixels_to_gray(const uint8_t* pixels, size_t count, uint8_t* gray) {
  HWY_DYNAMIC_DISPATCH(PixelsToGray)(pixels, count, gray);
}

void round_to_levels(const float* values, size_t count, uint8_t* levels) {
  HWY_DYNAMIC_DISPATCH(RoundToLevels)(values, count, levels);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
