// SPDX-License-Identifier: Apache-2.0
#include "image/kernels.h"

#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U16 = hn::ScalableTag<uint16_t>;
using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
// As many 16-bit values as there are floats in a vector.
using HalfU16 = hn::Rebind<uint16_t, F32>;
using HalfI16 = hn::Rebind<int16_t, F32>;

#if HWY_TARGET == HWY_SCALAR  // no vectors to look up in
void PickTaps(const uint8_t* row, const TapTable* tables, int parts, size_t groups,
              uint16_t* taps) {
  for (size_t i = 0; i < 8 * groups; ++i) {
    taps[i] = 0;
    for (int p = 0; p < parts; ++p) {
      for (size_t byte = 0; byte < 2; ++byte) {
        const uint8_t index = tables[p].pick[2 * i + byte];
        if (index == 0x80) continue;
        taps[i] = static_cast<uint16_t>(taps[i] | row[tables[p].base[i / 8] + index] << 8 * byte);
      }
    }
  }
}
#else
// The bytes from which as many groups as fit a vector are picked.
template <class D, HWY_IF_LE128(uint8_t, hn::MaxLanes(D()))>
HWY_INLINE hn::Vec<D> LoadGroups(D d, const uint8_t* HWY_RESTRICT row,
                                 const uint32_t* HWY_RESTRICT base) {
  return hn::LoadU(d, row + base[0]);
}
template <class D, HWY_IF_GT128(uint8_t, hn::MaxLanes(D()))>
HWY_INLINE hn::Vec<D> LoadGroups(D d, const uint8_t* HWY_RESTRICT row,
                                 const uint32_t* HWY_RESTRICT base) {
  const hn::Half<D> half;
  return hn::Combine(d, LoadGroups(half, row, base + hn::Lanes(half) / 16),
                     LoadGroups(half, row, base));
}

template <int kParts>
HWY_INLINE void PickTapsOf(const uint8_t* HWY_RESTRICT row, const TapTable* HWY_RESTRICT tables,
                           size_t groups, uint16_t* HWY_RESTRICT taps) {
#if HWY_HAVE_SCALABLE
  const hn::CappedTag<uint8_t, 16> d;
#else
  const hn::ScalableTag<uint8_t> d;
#endif
  const size_t at_once = hn::Lanes(d) / 16;
  auto* to = reinterpret_cast<uint8_t*>(taps);
  // Copies that the stores below cannot change.
  TapTable local[kParts];
  for (int p = 0; p < kParts; ++p) local[p] = tables[p];
  for (size_t i = 0; i < groups; i += at_once) {
    auto look_up = [&](int part) HWY_ATTR {
      return hn::TableLookupBytesOr0(LoadGroups(d, row, local[part].base + i),
                                     hn::LoadU(d, local[part].pick + 16 * i));
    };
    auto found = look_up(0);
    for (int p = 1; p < kParts; ++p) found = hn::Or(found, look_up(p));
    hn::StoreU(found, d, to + 16 * i);
  }
}

void PickTaps(const uint8_t* row, const TapTable* tables, int parts, size_t groups,
              uint16_t* taps) {
  if (parts == 1) PickTapsOf<1>(row, tables, groups, taps);
  if (parts == 2) PickTapsOf<2>(row, tables, groups, taps);
  if (parts == 4) PickTapsOf<4>(row, tables, groups, taps);
}
#endif

#if HWY_TARGET == HWY_SCALAR
void Interpolate(const uint16_t* taps, const uint16_t* first_weight, const uint16_t* second_weight,
                 int shift, size_t lanes, uint16_t* out) {
  for (size_t i = 0; i < lanes; ++i) {
    const uint16_t* group = taps + i / 4 * 8 + i % 4;
    const uint32_t t0 = static_cast<uint16_t>(group[0] << shift);
    const uint32_t t1 = static_cast<uint16_t>(group[4] << shift);
    out[i] = static_cast<uint16_t>((t0 * first_weight[i] + t1 * second_weight[i]) >> 16);
  }
}
#else
void Interpolate(const uint16_t* HWY_RESTRICT taps, const uint16_t* HWY_RESTRICT first_weight,
                 const uint16_t* HWY_RESTRICT second_weight, int shift, size_t lanes,
                 uint16_t* HWY_RESTRICT out) {
  const U16 d;
  const hn::Repartition<uint64_t, U16> d64;  // four lanes of 16 bits
  for (size_t i = 0; i < lanes; i += hn::Lanes(d)) {
    const auto low = hn::BitCast(d64, hn::LoadU(d, taps + 2 * i));
    const auto high = hn::BitCast(d64, hn::LoadU(d, taps + 2 * i + hn::Lanes(d)));
    auto t0 = hn::BitCast(d, hn::ConcatEven(d64, high, low));
    auto t1 = hn::BitCast(d, hn::ConcatOdd(d64, high, low));
    if (shift > 0) {
      t0 = hn::ShiftLeftSame(t0, shift);
      t1 = hn::ShiftLeftSame(t1, shift);
    }
    const auto w0 = hn::LoadU(d, first_weight + i), w1 = hn::LoadU(d, second_weight + i);
    // The sum of the high halves, and the carry from that of the low halves.
    const auto sum = hn::Add(hn::MulHigh(t0, w0), hn::MulHigh(t1, w1));
    const auto carry = hn::AverageRound(hn::Mul(t0, w0), hn::Mul(t1, w1));
    hn::StoreU(hn::Add(sum, hn::ShiftRight<15>(carry)), d, out + i);
  }
}
#endif

void BlendLevels(const uint16_t* HWY_RESTRICT above, const uint16_t* HWY_RESTRICT below,
                 int above_weight, int below_weight, size_t count, int16_t* HWY_RESTRICT levels) {
  const U16 d;
  const auto w0 = hn::Set(d, static_cast<uint16_t>(above_weight));
  const auto w1 = hn::Set(d, static_cast<uint16_t>(below_weight));
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto sum =
        hn::Add(hn::MulHigh(hn::LoadU(d, above + i), w0), hn::MulHigh(hn::LoadU(d, below + i), w1));
    const auto level = hn::ShiftRight<2>(hn::Add(sum, hn::Set(d, uint16_t{2})));
    hn::StoreU(level, d, reinterpret_cast<uint16_t*>(levels) + i);
  }
}

void BlendFine(const uint16_t* HWY_RESTRICT above, const uint16_t* HWY_RESTRICT below,
               int above_weight, int below_weight, size_t count, uint16_t* HWY_RESTRICT out) {
  const U16 d;
  const auto w0 = hn::Set(d, static_cast<uint16_t>(above_weight * 16));
  const auto w1 = hn::Set(d, static_cast<uint16_t>(below_weight * 16));
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto sum =
        hn::Add(hn::MulHigh(hn::LoadU(d, above + i), w0), hn::MulHigh(hn::LoadU(d, below + i), w1));
    hn::StoreU(sum, d, out + i);
  }
}

HWY_INLINE hn::Vec<F32> ToFloat(const uint16_t* from) {
  const F32 df;
  const I32 di;
  return hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(HalfU16(), from)));
}

// Rounded and clamped to 0..255.
HWY_INLINE hn::Vec<HalfU16> ToLevel(hn::Vec<F32> value) {
  const F32 df;
  const auto clamped = hn::Min(hn::Max(value, hn::Zero(df)), hn::Set(df, 255.0f));
  return hn::DemoteTo(HalfU16(), hn::NearestInt(clamped));
}

void YuvLevels(const uint16_t* HWY_RESTRICT y, const uint16_t* HWY_RESTRICT u,
               const uint16_t* HWY_RESTRICT v, const YuvMatrix& m, bool bgr, size_t pixels,
               int16_t* HWY_RESTRICT levels) {
  const F32 df;
  const I32 di;
  const HalfU16 dh;
  const auto my = hn::Set(df, m.y), rv = hn::Set(df, m.rv), gu = hn::Set(df, m.gu);
  const auto gv = hn::Set(df, m.gv), bu = hn::Set(df, m.bu);
  const auto r0 = hn::Set(df, m.r0), g0 = hn::Set(df, m.g0), b0 = hn::Set(df, m.b0);
  auto* out = reinterpret_cast<uint16_t*>(levels);
  for (size_t i = 0; i < pixels; i += hn::Lanes(df)) {
    auto fu = hn::Zero(df), fv = hn::Zero(df);
    if (v) {
      fu = ToFloat(u + i);
      fv = ToFloat(v + i);
    } else {  // a pair is one 32-bit lane
      const auto pairs = hn::LoadU(di, reinterpret_cast<const int32_t*>(u + 2 * i));
      fu = hn::ConvertTo(df, hn::And(pairs, hn::Set(di, 0xffff)));
      fv = hn::ConvertTo(df, hn::ShiftRight<16>(pairs));
    }
    const auto luma = hn::Mul(ToFloat(y + i), my);
    const auto r = ToLevel(hn::MulAdd(fv, rv, hn::Add(luma, r0)));
    const auto g = ToLevel(hn::MulAdd(fu, gu, hn::MulAdd(fv, gv, hn::Add(luma, g0))));
    const auto b = ToLevel(hn::MulAdd(fu, bu, hn::Add(luma, b0)));
    hn::StoreInterleaved4(bgr ? b : r, g, bgr ? r : b, hn::Zero(dh), dh, out + 4 * i);
  }
}

void LumaLevels(const uint16_t* HWY_RESTRICT y, float scale, float offset, size_t count,
                int16_t* HWY_RESTRICT levels) {
  const F32 df;
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto value = hn::MulAdd(ToFloat(y + i), hn::Set(df, scale), hn::Set(df, offset));
    hn::StoreU(ToLevel(value), HalfU16(), reinterpret_cast<uint16_t*>(levels) + i);
  }
}

void NormaliseFloat(const int16_t* HWY_RESTRICT levels, const float* HWY_RESTRICT mean,
                    const float* HWY_RESTRICT scale, size_t count, float* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < count; ++i) {
    out[i] = (static_cast<float>(levels[i]) - mean[i % 4]) * scale[i % 4];
  }
#else
  const F32 df;
  const I32 di;
  const auto means = hn::LoadDup128(df, mean), scales = hn::LoadDup128(df, scale);
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto value = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(HalfI16(), levels + i)));
    hn::StoreU(hn::Mul(hn::Sub(value, means), scales), df, out + i);
  }
#endif
}

void NormaliseHalf(const int16_t* HWY_RESTRICT levels, const float* HWY_RESTRICT mean,
                   const float* HWY_RESTRICT scale, size_t count, uint16_t* HWY_RESTRICT out) {
  // See tensor/convert_half.cpp: where conversions are instructions.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
  const F32 df;
  const I32 di;
  const hn::Rebind<hwy::float16_t, F32> dh;
  const auto means = hn::LoadDup128(df, mean), scales = hn::LoadDup128(df, scale);
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto value = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(HalfI16(), levels + i)));
    hn::StoreU(hn::DemoteTo(dh, hn::Mul(hn::Sub(value, means), scales)), dh,
               reinterpret_cast<hwy::float16_t*>(out + i));
  }
#else
  for (size_t i = 0; i < count; ++i) {
    out[i] = float_to_half((static_cast<float>(levels[i]) - mean[i % 4]) * scale[i % 4]);
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(PickTaps);
HWY_EXPORT(Interpolate);
HWY_EXPORT(BlendLevels);
HWY_EXPORT(BlendFine);
HWY_EXPORT(YuvLevels);
HWY_EXPORT(LumaLevels);
HWY_EXPORT(NormaliseFloat);
HWY_EXPORT(NormaliseHalf);

void pick_taps(const uint8_t* row, const TapTable* tables, int parts, size_t groups,
               uint16_t* taps) {
  HWY_DYNAMIC_DISPATCH(PickTaps)(row, tables, parts, groups, taps);
}

void interpolate(const uint16_t* taps, const uint16_t* first_weight, const uint16_t* second_weight,
                 int shift, size_t lanes, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(Interpolate)(taps, first_weight, second_weight, shift, lanes, out);
}

void blend_levels(const uint16_t* above, const uint16_t* below, int above_weight, int below_weight,
                  size_t count, int16_t* levels) {
  HWY_DYNAMIC_DISPATCH(BlendLevels)(above, below, above_weight, below_weight, count, levels);
}

void blend_fine(const uint16_t* above, const uint16_t* below, int above_weight, int below_weight,
                size_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(BlendFine)(above, below, above_weight, below_weight, count, out);
}

void yuv_levels(const uint16_t* y, const uint16_t* u, const uint16_t* v, const YuvMatrix& matrix,
                bool bgr, size_t pixels, int16_t* levels) {
  HWY_DYNAMIC_DISPATCH(YuvLevels)(y, u, v, matrix, bgr, pixels, levels);
}

void luma_levels(const uint16_t* y, float scale, float offset, size_t count, int16_t* levels) {
  HWY_DYNAMIC_DISPATCH(LumaLevels)(y, scale, offset, count, levels);
}

void normalise_half(const int16_t* levels, const float mean[4], const float scale[4], size_t count,
                    uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(NormaliseHalf)(levels, mean, scale, count, out);
}

void normalise_float(const int16_t* levels, const float mean[4], const float scale[4], size_t count,
                     float* out) {
  HWY_DYNAMIC_DISPATCH(NormaliseFloat)(levels, mean, scale, count, out);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
