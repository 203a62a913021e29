// SPDX-License-Identifier: Apache-2.0
// Also enables Highway's target AVX-512 VBMI, which looks up bytes in 64 bytes instead of 16.
#define HWY_WANT_AVX3_DL

#include "image/lanes.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/resample.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "image/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // no vectors for lookups: the definitions, byte by byte
constexpr size_t kBlock = 16, kReach = 16;

uint8_t Picked(const uint8_t* row, const Picks& picks, size_t byte) {
  const size_t part = byte % kBlock * picks.parts / kBlock;
  const uint8_t index = picks.pick[byte];
  return index == 0x80 ? 0 : row[picks.base[part * picks.blocks + byte / kBlock] + index];
}

void CopyPicked(const uint8_t* row, const Picks& picks, uint8_t* out) {
  for (size_t i = 0; i < picks.blocks * kBlock; ++i) out[i] = Picked(row, picks, i);
}

// Returns a lane of a row, interpolated along x, times 2048.
uint32_t AlongX(const uint8_t* row, const Bilinear& bilinear, size_t lane) {
  auto sample = [&](size_t side) {
    const size_t byte = 4 * lane + 2 * side;
    const int wide = Picked(row, bilinear.picks, byte) | Picked(row, bilinear.picks, byte + 1) << 8;
    return (wide >> bilinear.shift) * bilinear.weights[2 * lane + side];
  };
  return static_cast<uint32_t>(sample(0) + sample(1));
}

void InterpolateLevels(const RowPair& rows, const Bilinear& bilinear, uint8_t* out) {
  auto part = [](uint32_t value, int weight) {
    return (value >> 4) * static_cast<uint32_t>(weight) >> 16;
  };
  for (size_t i = 0; i < bilinear.picks.blocks * kBlock / 4; ++i) {
    const uint32_t sum = part(AlongX(rows.above, bilinear, i), rows.above_weight) +
                         part(AlongX(rows.below, bilinear, i), rows.below_weight);
    out[i] = static_cast<uint8_t>((sum + 2) >> 2);
  }
}

void InterpolateFine(const RowPair& rows, const Bilinear& bilinear, float* out) {
  const float unit = bilinear.bits == 8 ? 1.0f : 0.25f;
  for (size_t i = 0; i < bilinear.picks.blocks * kBlock / 4; ++i) {
    out[i] = unit * (static_cast<float>(AlongX(rows.above, bilinear, i)) *
                         static_cast<float>(rows.above_weight) +
                     static_cast<float>(AlongX(rows.below, bilinear, i)) *
                         static_cast<float>(rows.below_weight));
  }
}

void PrepareBilinear(const Picks&, uint8_t*) {}
#else

using U8 = hn::ScalableTag<uint8_t>;
using I16 = hn::Repartition<int16_t, U8>;
using U16 = hn::Repartition<uint16_t, U8>;
using I32 = hn::Repartition<int32_t, U8>;
using F32 = hn::Repartition<float, U8>;

// Value of the template parameter kParts for Picks::near.
constexpr size_t kNear = ~size_t{0};

#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0 has no lookup across a whole vector of bytes.
constexpr size_t kBlock = 64, kReach = 128;

// Masks of the bytes of a block that each part provides, among those in `wanted`.
class Parts {
 public:
  explicit Parts(size_t parts, uint64_t wanted = ~uint64_t{0}) {
    for (size_t p = 0; p < parts; ++p) {
      mask_[p] = wanted & (~uint64_t{0} >> (kBlock - kBlock / parts) << (p * kBlock / parts));
    }
  }
  HWY_INLINE hn::Vec<U8> Pick(const uint8_t* HWY_RESTRICT bytes, hn::Vec<U8> index,
                              size_t part) const {
    return hn::Vec<U8>{_mm512_maskz_permutex2var_epi8(
        mask_[part], _mm512_loadu_si512(bytes), index.raw, _mm512_loadu_si512(bytes + kBlock))};
  }
  HWY_INLINE hn::Vec<U8> PickNear(const uint8_t* HWY_RESTRICT bytes, hn::Vec<U8> index) const {
    return hn::Vec<U8>{
        _mm512_maskz_permutexvar_epi8(mask_[0], index.raw, _mm512_loadu_si512(bytes))};
  }

 private:
  __mmask64 mask_[kMostParts];
};

// Loads 8-bit samples of two rows, if all are near.
HWY_INLINE void PickNearPairs(const uint8_t* HWY_RESTRICT above, const uint8_t* HWY_RESTRICT below,
                              const uint8_t* HWY_RESTRICT pick, hn::Vec<U16>& wide_above,
                              hn::Vec<U16>& wide_below) {
  const U16 d16;
  const auto index = hn::LoadU(U8(), pick);
  const hn::Vec<U16> both{
      _mm512_permutex2var_epi8(_mm512_loadu_si512(above), index.raw, _mm512_loadu_si512(below))};
  wide_above = hn::And(both, hn::Set(d16, 0xff));
  wide_below = hn::ShiftRight<8>(both);
}
#else
constexpr size_t kBlock = 16, kReach = 16;

// Masks table indices so that each part selects only its own bytes.
class Parts {
 public:
  explicit Parts(size_t parts, uint64_t = 0) {
    for (size_t p = 0; p < parts; ++p) {
      for (size_t k = 0; k < kBlock; ++k) others_[p][k] = k * parts / kBlock == p ? 0 : 0x80;
    }
  }
  HWY_INLINE hn::Vec<U8> Others(size_t part) const { return hn::LoadDup128(U8(), others_[part]); }

 private:
  HWY_ALIGN uint8_t others_[kBlock][kBlock];
};
#endif

// Loads bytes of a row for a vector of blocks from block `i` on, in `kParts` parts (0: any number).
template <size_t kParts>
HWY_INLINE hn::Vec<U8> PickRow(const uint8_t* HWY_RESTRICT row, const Picks& picks,
                               const Parts& parts, size_t i) {
  const U8 d;
  const auto index = hn::LoadU(d, picks.pick + kBlock * i);
  auto picked = hn::Zero(d);
  for (size_t p = 0; p < (kParts == 0 ? picks.parts : kParts == kNear ? 1 : kParts); ++p) {
    const uint32_t* base = picks.base + p * picks.blocks + i;
#if HWY_TARGET == HWY_AVX3_DL
    if (kParts == kNear) return parts.PickNear(row + *base, index);
    picked = hn::Or(picked, parts.Pick(row + *base, index, p));
#else
    const auto own = kParts == 1 || kParts == kNear ? index : hn::Or(index, parts.Others(p));
    picked = hn::Or(picked, hn::TableLookupBytesOr0(LoadBlocks(d, row, base), own));
#endif
  }
  return picked;
}

template <size_t kParts>
using PartCount = std::integral_constant<size_t, kParts>;

template <class F>
HWY_INLINE void WithParts(const Picks& picks, F f) {
  if (picks.near) return f(PartCount<kNear>());
  switch (picks.parts) {
    case 1:
      return f(PartCount<1>());
    case 2:
      return f(PartCount<2>());
    case 4:
      return f(PartCount<4>());
    default:
      return f(PartCount<0>());
  }
}

HWY_INLINE size_t BlocksAtOnce() {
  return hn::Lanes(U8()) / kBlock;
}

template <size_t kParts>
HWY_INLINE void CopyPickedOf(const uint8_t* row, const Picks& picks, uint8_t* out) {
  const Parts parts(picks.parts);
  for (size_t i = 0; i < picks.blocks; i += BlocksAtOnce()) {
    hn::StoreU(PickRow<kParts>(row, picks, parts, i), U8(), out + kBlock * i);
  }
}

void CopyPicked(const uint8_t* row, const Picks& picks, uint8_t* out) {
  WithParts(picks, [=](auto count) HWY_ATTR { CopyPickedOf<count.value>(row, picks, out); });
}

// Returns samples times weights, added up in pairs: values times 2048.
HWY_INLINE hn::Vec<I32> MulPairs(hn::Vec<U16> samples, hn::Vec<I16> weights) {
  const I16 d16;
  const I32 d32;
  auto odd = hn::Zero(d32);
  const auto even =
      hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, samples), weights, hn::Zero(d32), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
}

// Loads the samples of both rows as 16 bits.
template <size_t kParts, int kBits>
HWY_INLINE void PickPairs(const RowPair& rows, const Bilinear& bilinear, const Parts& parts,
                          size_t i, hn::Vec<U16>& above, hn::Vec<U16>& below) {
  const U16 d16;
#if HWY_TARGET == HWY_AVX3_DL
  if (kParts == kNear && kBits == 8) {
    const uint32_t base = bilinear.picks.base[i];
    PickNearPairs(rows.above + base, rows.below + base, bilinear.picks.pick + kBlock * i, above,
                  below);
    return;
  }
#endif
  above = hn::BitCast(d16, PickRow<kParts>(rows.above, bilinear.picks, parts, i));
  below = rows.below == rows.above
              ? above
              : hn::BitCast(d16, PickRow<kParts>(rows.below, bilinear.picks, parts, i));
  if (kBits == 8 || bilinear.shift == 0) return;
  above = hn::ShiftRightSame(above, bilinear.shift);
  below = hn::ShiftRightSame(below, bilinear.shift);
}

// Interpolates both rows along x: values times 2048.
template <size_t kParts, int kBits>
HWY_INLINE void AlongX(const RowPair& rows, const Bilinear& bilinear, const Parts& parts, size_t i,
                       hn::Vec<I32>& above, hn::Vec<I32>& below) {
  const auto weights = hn::LoadU(I16(), bilinear.weights + i * kBlock / 2);
  auto samples_above = hn::Zero(U16()), samples_below = samples_above;
  PickPairs<kParts, kBits>(rows, bilinear, parts, i, samples_above, samples_below);
  above = MulPairs(samples_above, weights);
  below = MulPairs(samples_below, weights);
}

// 8-bit samples have no upper bytes.
HWY_INLINE Parts PartsOf(const Bilinear& bilinear) {
  return Parts(bilinear.picks.parts, bilinear.bits == 8 ? 0x5555555555555555 : ~uint64_t{0});
}

// As in OpenCV, rows are rounded down to 1/128, and their weighted parts to 1/4.
template <size_t kParts>
HWY_INLINE void InterpolateLevelsOf(const RowPair rows, const Bilinear bilinear,
                                    uint8_t* HWY_RESTRICT out) {
  const I32 d32;
  const U16 d16;
  const hn::Rebind<uint8_t, I32> d8;
  const Parts parts = PartsOf(bilinear);
  // Both weights in each lane.
  const auto weights = hn::BitCast(d16, hn::Set(d32, rows.above_weight | rows.below_weight << 16));
  for (size_t i = 0; i < bilinear.picks.blocks; i += BlocksAtOnce()) {
    auto above = hn::Zero(d32), below = above;
    AlongX<kParts, 8>(rows, bilinear, parts, i, above, below);
    // 16 - 4 bits to the left; the lower half is masked out
    const auto high = hn::AndNot(hn::Set(d32, 0xffff), hn::ShiftLeft<12>(below));
    const auto pair = hn::BitCast(d16, hn::Or(hn::ShiftRight<4>(above), high));
    const auto sum = MulPairs(hn::MulHigh(pair, weights), hn::Set(I16(), 1));
    const auto level = hn::ShiftRight<2>(hn::Add(sum, hn::Set(d32, 2)));
    hn::StoreU(hn::DemoteTo(d8, level), d8, out + i * kBlock / 4);
  }
}

void InterpolateLevels(const RowPair& rows, const Bilinear& bilinear, uint8_t* out) {
  WithParts(bilinear.picks,
            [=](auto count) HWY_ATTR { InterpolateLevelsOf<count.value>(rows, bilinear, out); });
}

template <size_t kParts, int kBits>
HWY_INLINE void InterpolateFineOf(const RowPair rows, const Bilinear bilinear,
                                  float* HWY_RESTRICT out) {
  const F32 df;
  const Parts parts = PartsOf(bilinear);
  const float unit = kBits == 8 ? 1.0f : 0.25f;
  const auto weight_above = hn::Set(df, unit * static_cast<float>(rows.above_weight));
  const auto weight_below = hn::Set(df, unit * static_cast<float>(rows.below_weight));
  for (size_t i = 0; i < bilinear.picks.blocks; i += BlocksAtOnce()) {
    auto above = hn::Zero(I32()), below = above;
    AlongX<kParts, kBits>(rows, bilinear, parts, i, above, below);
    const auto part = hn::Mul(hn::ConvertTo(df, below), weight_below);
    hn::StoreU(hn::MulAdd(hn::ConvertTo(df, above), weight_above, part), df, out + i * kBlock / 4);
  }
}

void InterpolateFine(const RowPair& rows, const Bilinear& bilinear, float* out) {
  WithParts(bilinear.picks, [=](auto count) HWY_ATTR {
    if (bilinear.bits == 8) {
      InterpolateFineOf<count.value, 8>(rows, bilinear, out);
    } else {
      InterpolateFineOf<count.value, 10>(rows, bilinear, out);
    }
  });
}

void PrepareBilinear(const Picks& picks, uint8_t* pick) {
#if HWY_TARGET == HWY_AVX3_DL
  if (!picks.near) return;
  // The upper byte is the same sample of the row below.
  for (size_t i = 0; i < picks.blocks * kBlock; i += 2) {
    pick[i + 1] = static_cast<uint8_t>(pick[i] | kBlock);
  }
#else
  (void)picks, (void)pick;
#endif
}
#endif

PickUnit Unit() {
  return {kBlock, kReach};
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(Unit);
HWY_EXPORT(CopyPicked);
HWY_EXPORT(InterpolateLevels);
HWY_EXPORT(InterpolateFine);
HWY_EXPORT(PrepareBilinear);

PickUnit pick_unit() {
  return HWY_DYNAMIC_DISPATCH(Unit)();
}

void copy_picked(const uint8_t* row, const Picks& picks, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(CopyPicked)(row, picks, out);
}

void prepare_bilinear(const Picks& picks, uint8_t* pick) {
  HWY_DYNAMIC_DISPATCH(PrepareBilinear)(picks, pick);
}

void interpolate_levels(const RowPair& rows, const Bilinear& bilinear, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(InterpolateLevels)(rows, bilinear, out);
}

void interpolate_fine(const RowPair& rows, const Bilinear& bilinear, float* out) {
  HWY_DYNAMIC_DISPATCH(InterpolateFine)(rows, bilinear, out);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
