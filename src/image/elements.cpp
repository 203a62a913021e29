// SPDX-License-Identifier: Apache-2.0
// See resample.cpp.
#define HWY_WANT_AVX3_DL

#include "image/tensor_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/elements.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "image/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;

// --- sinks: elements of a type -----------------------------------------------------------------

struct ToHalf {
  using T = half_t;
  static HWY_INLINE void Store(hn::Vec<F32> value, const ElementRule&, T* out) {
    // Targets with instructions for the conversion; see tensor/convert_half.cpp.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
    const hn::Rebind<hwy::float16_t, F32> d;
    hn::StoreU(hn::DemoteTo(d, value), d, reinterpret_cast<hwy::float16_t*>(out));
#else
    const F32 d;
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    hn::Store(value, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] = float_to_half(lanes[i]);
#endif
  }
};

struct ToFloat {
  using T = float;
  static HWY_INLINE void Store(hn::Vec<F32> value, const ElementRule&, T* out) {
    hn::StoreU(value, F32(), out);
  }
};

template <typename Integer>
struct ToInteger {
  using T = Integer;
  static HWY_INLINE void Store(hn::Vec<F32> value, const ElementRule& rule, T* out) {
    const F32 d;
    const hn::Rebind<Integer, I32> narrow;
    const auto steps = hn::MulAdd(value, hn::Set(d, rule.steps), hn::Set(d, rule.zero_point));
    // Keeps values within an int16, because the conversion does not clamp.
    const auto bounded = hn::Min(hn::Max(steps, hn::Set(d, -1024.0f)), hn::Set(d, 1024.0f));
    hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(bounded)), narrow, out);
  }
};

// Converts u8 samples, one per lane, to elements.
template <class Sink>
HWY_INLINE void Put(hn::Vec<I32> levels, hn::Vec<F32> mean, hn::Vec<F32> scale,
                    const ElementRule& rule, typename Sink::T* out) {
  Sink::Store(hn::Mul(hn::Sub(hn::ConvertTo(F32(), levels), mean), scale), rule, out);
}

// --- units of 16 pixels ------------------------------------------------------------------------

constexpr size_t kUnit = 16;

// Positions of the samples of a unit's elements, for three interleaved channels. For every four
// elements: a pixel at most 16 bytes away from them, and which of the 16 bytes they are.
struct TripleTable {
  explicit TripleTable(bool bgr) {
    for (size_t e = 0; e < 3 * kUnit; ++e) {
#if HWY_TARGET == HWY_AVX3_DL
      const size_t from = 0;  // all 64 bytes are within reach
#else
      const size_t from = e / 4 * 4 / 3;
      base[e / 4] = static_cast<uint32_t>(4 * from);
#endif
      const size_t channel = bgr ? 2 - e % 3 : e % 3;
      std::memset(index + 4 * e, 0x80, 4);
      index[4 * e] = static_cast<uint8_t>(4 * (e / 3 - from) + channel);
    }
  }
  uint32_t base[3 * kUnit / 4] = {};
  HWY_ALIGN uint8_t index[12 * kUnit];
};

// Loads the samples of four elements from `e` on.
HWY_INLINE hn::Vec<I32> LoadTriples(const uint8_t* HWY_RESTRICT pixels, const TripleTable& table,
                                    size_t e) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(I32(), pixels[table.base[e / 4] + table.index[4 * e]]);
#else
  const hn::Repartition<uint8_t, I32> d8;
  const auto index = hn::LoadU(d8, table.index + 4 * e);
#if HWY_TARGET == HWY_AVX3_DL
  return hn::Vec<I32>{
      _mm512_maskz_permutexvar_epi8(0x1111111111111111, index.raw, _mm512_loadu_si512(pixels))};
#else
  return hn::BitCast(I32(),
                     hn::TableLookupBytesOr0(LoadBlocks(d8, pixels, table.base + e / 4), index));
#endif
#endif
}

template <class Sink>
HWY_INLINE void StoreTriples(const uint8_t* HWY_RESTRICT pixels, const TripleTable& table,
                             const ElementRule& rule, typename Sink::T* HWY_RESTRICT out) {
  const F32 d;
  for (size_t e = 0; e < 3 * kUnit; e += hn::Lanes(d)) {
    Put<Sink>(LoadTriples(pixels, table, e), hn::LoadU(d, rule.mean + e),
              hn::LoadU(d, rule.scale + e), rule, out + e);
  }
}

#if HWY_TARGET == HWY_AVX3_DL
// A lookup table of 256 bytes.
struct ByteTable {
  explicit ByteTable(const uint8_t* bytes) {
    for (int i = 0; i < 4; ++i) quarter[i] = _mm512_loadu_si512(bytes + 64 * i);
  }
  // `upper` marks the indices of 128 and more.
  HWY_INLINE __m512i Find(__m512i index, __mmask64 upper) const {
    return _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(quarter[0], index, quarter[1]),
                                  _mm512_permutex2var_epi8(quarter[2], index, quarter[3]));
  }
  __m512i quarter[4];
};

// Which bytes of a unit's pixels are its elements' samples. Interleaving takes the first 8 of each
// 16 bytes for one vector, and the others for the next.
struct HalfOrder {
  explicit HalfOrder(bool bgr) {
    for (size_t i = 0; i < 64; ++i) {
      const size_t e = i / 16 * 8 + i % 8 + (i % 16 < 8 ? 0 : 32);
      const size_t channel = bgr ? 2 - e % 3 : e % 3;
      index[i] = static_cast<uint8_t>(e < 3 * kUnit ? 4 * (e / 3) + channel : 0);
    }
  }
  HWY_ALIGN uint8_t index[64];
};

// Looks up FP16 elements, which is faster than computing them if all channels have the same rule.
class HalfTriples {
 public:
  explicit HalfTriples(const ElementRule& rule) : low_(rule.half_low), high_(rule.half_high) {
    static const HalfOrder orders[] = {HalfOrder(false), HalfOrder(true)};
    order_ = _mm512_load_si512(orders[rule.bgr].index);
  }
  HWY_INLINE void Store(const uint8_t* HWY_RESTRICT pixels, half_t* HWY_RESTRICT out) const {
    const __m512i levels = _mm512_permutexvar_epi8(order_, _mm512_loadu_si512(pixels));
    const __mmask64 upper = _mm512_movepi8_mask(levels);
    const __m512i low = low_.Find(levels, upper), high = high_.Find(levels, upper);
    _mm512_storeu_si512(out, _mm512_unpacklo_epi8(low, high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32),
                        _mm512_castsi512_si256(_mm512_unpackhi_epi8(low, high)));
  }

 private:
  __m512i order_;
  ByteTable low_, high_;
};
#endif

// Writes the pixels' samples of the tensor's channel `channel`.
template <class Sink>
HWY_INLINE void StoreChannel(const uint8_t* HWY_RESTRICT pixels, int channel,
                             const ElementRule& rule, typename Sink::T* HWY_RESTRICT out) {
  const I32 d;
  const int shift = 8 * (rule.bgr ? 2 - channel : channel);
  const auto mean = hn::Set(F32(), rule.mean[channel]);
  const auto scale = hn::Set(F32(), rule.scale[channel]);
  for (size_t x = 0; x < kUnit; x += hn::Lanes(d)) {
    const auto lanes = hn::LoadU(d, reinterpret_cast<const int32_t*>(pixels + 4 * x));
    Put<Sink>(hn::And(hn::ShiftRightSame(lanes, shift), hn::Set(d, 255)), mean, scale, rule,
              out + x);
  }
}

template <class Sink>
HWY_INLINE void StoreGray(const uint8_t* HWY_RESTRICT gray, const ElementRule& rule,
                          typename Sink::T* HWY_RESTRICT out) {
  const hn::Rebind<uint8_t, I32> d8;
  const auto mean = hn::Set(F32(), rule.mean[0]), scale = hn::Set(F32(), rule.scale[0]);
  for (size_t x = 0; x < kUnit; x += hn::Lanes(F32())) {
    Put<Sink>(hn::PromoteTo(I32(), hn::LoadU(d8, gray + x)), mean, scale, rule, out + x);
  }
}

// --- runs --------------------------------------------------------------------------------------

// Calls store(samples, out) for every unit of every run. An incomplete last unit is stored to a
// buffer first. `level_bytes` bytes of a pixel become `elements` consecutive elements.
template <typename T, class Store>
HWY_INLINE void ForEachUnit(const uint8_t* levels, const Runs runs, size_t level_bytes,
                            size_t elements, T* out, Store store) {
  const size_t whole = runs.length / kUnit * kUnit;
  for (size_t run = 0; run < runs.count; ++run) {
    for (size_t x = 0; x < whole; x += kUnit) {
      store(levels + x * level_bytes, out + x * elements);
    }
    if (whole < runs.length) {
      T aside[3 * kUnit];
      store(levels + whole * level_bytes, aside);
      std::memcpy(out + whole * elements, aside, (runs.length - whole) * elements * sizeof(T));
    }
    levels += runs.pitch;
    out += runs.out_stride;
  }
}

// Writes pixels that are not consecutive: every unit is stored to a buffer first.
template <typename T, class Store>
HWY_INLINE void ScatterUnits(const uint8_t* levels, const Runs& runs, size_t channels, T* out,
                             Store store) {
  const size_t level_bytes = channels == 1 ? 1 : 4;
  for (size_t run = 0; run < runs.count; ++run) {
    const uint8_t* from = levels + run * runs.pitch;
    T* to = out + static_cast<ptrdiff_t>(run) * runs.out_stride;
    for (size_t x = 0; x < runs.length; x += kUnit) {
      T aside[3 * kUnit];
      store(from + x * level_bytes, aside);
      for (size_t k = 0; k < kUnit && x + k < runs.length; ++k) {
        T* pixel = to + static_cast<ptrdiff_t>(x + k) * runs.pixels.step;
        for (size_t c = 0; c < channels; ++c) {
          pixel[runs.pixels.channel[c]] = aside[channels * k + c];
        }
      }
    }
  }
}

template <class Sink>
HWY_INLINE void StoreRunsOf(const uint8_t* levels, const Runs& runs, const ElementRule& rule,
                            uint8_t* out) {
  using T = typename Sink::T;
  T* to = reinterpret_cast<T*>(out);
  const PixelSteps& steps = runs.pixels;
  const bool triples = steps.step == 3 && steps.channel[1] == 1 && steps.channel[2] == 2;
  if (rule.channels == 1) {
    auto store = [&](const uint8_t* from, T* at) HWY_ATTR { StoreGray<Sink>(from, rule, at); };
    if (steps.step == 1) return ForEachUnit(levels, runs, 1, 1, to, store);
    ScatterUnits(levels, runs, 1, to, store);
  } else if (triples || steps.step != 1) {
#if HWY_TARGET == HWY_AVX3_DL
    if constexpr (std::is_same_v<Sink, ToHalf>) {
      if (triples && rule.has_halves) {
        const HalfTriples table(rule);
        return ForEachUnit(levels, runs, 4, 3, to,
                           [=](const uint8_t* from, T* at) HWY_ATTR { table.Store(from, at); });
      }
    }
#endif
    static const TripleTable tables[] = {TripleTable(false), TripleTable(true)};
    const TripleTable& table = tables[rule.bgr];
    auto store = [&](const uint8_t* from, T* at)
                     HWY_ATTR { StoreTriples<Sink>(from, table, rule, at); };
    if (triples) return ForEachUnit(levels, runs, 4, 3, to, store);
    ScatterUnits(levels, runs, 3, to, store);
  } else {
    for (int c = 0; c < 3; ++c) {
      ForEachUnit(levels, runs, 4, 1, to + steps.channel[c],
                  [&](const uint8_t* from, T* at)
                      HWY_ATTR { StoreChannel<Sink>(from, c, rule, at); });
    }
  }
}

void StoreRuns(const uint8_t* levels, const Runs& runs, const ElementRule& rule, uint8_t* out) {
  switch (rule.type) {
    case ElementType::kFloat16:
      return StoreRunsOf<ToHalf>(levels, runs, rule, out);
    case ElementType::kFloat32:
      return StoreRunsOf<ToFloat>(levels, runs, rule, out);
    case ElementType::kUint8:
      return StoreRunsOf<ToInteger<uint8_t>>(levels, runs, rule, out);
    case ElementType::kInt8:
      return StoreRunsOf<ToInteger<int8_t>>(levels, runs, rule, out);
  }
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(StoreRuns);

ElementRule::ElementRule(ElementType element_type, int channel_count, const InputSpec& picture)
    : type(element_type),
      channels(channel_count),
      bgr(picture.order == ChannelOrder::kBgr),
      steps(1.0f / picture.quant_scale),
      zero_point(static_cast<float>(picture.zero_point)) {
  for (size_t i = 0; i < kPattern; ++i) {
    const size_t channel = i % static_cast<size_t>(channels);
    mean[i] = picture.mean[channel];
    scale[i] = picture.scale[channel];
  }
  has_halves = type == ElementType::kFloat16 && std::equal(mean + 1, mean + kPattern, mean) &&
               std::equal(scale + 1, scale + kPattern, scale);
  for (int level = 0; has_halves && level < 256; ++level) {
    uint8_t half[2];
    put(level, 0, half);
    half_low[level] = half[0];
    half_high[level] = half[1];
  }
}

void ElementRule::put(int level, int channel, uint8_t* to) const {
  const float value = (static_cast<float>(level) - mean[channel]) * scale[channel];
  const float stored = value * steps + zero_point;
  if (type == ElementType::kFloat16) {
    const half_t half = float_to_half(value);
    std::memcpy(to, &half, sizeof half);
  } else if (type == ElementType::kFloat32) {
    std::memcpy(to, &value, sizeof value);
  } else if (type == ElementType::kUint8) {
    *to = static_cast<uint8_t>(std::lrint(std::clamp(stored, 0.0f, 255.0f)));
  } else {
    *to = static_cast<uint8_t>(std::lrint(std::clamp(stored, -128.0f, 127.0f)));
  }
}

void store_runs(const uint8_t* levels, const Runs& runs, const ElementRule& rule, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(StoreRuns)(levels, runs, rule, out);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
