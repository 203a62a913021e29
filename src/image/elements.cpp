// SPDX-License-Identifier: Apache-2.0
#include "image/elements.h"

#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/elements.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using Floats = hn::Vec<F32>;

// --- sources: floats of 0..255 -----------------------------------------------------------------

// Byte kIndex of each lane.
template <int kIndex>
HWY_INLINE Floats ByteOf(hn::Vec<I32> pixels) {
  const I32 d;
  const auto low = hn::And(hn::ShiftRight<8 * kIndex>(pixels), hn::Set(d, 255));
  return hn::ConvertTo(F32(), low);
}

struct Colours {
  const uint8_t* bytes;
  HWY_INLINE void Load(size_t x, Floats& r, Floats& g, Floats& b) const {
    const auto pixels = hn::LoadU(I32(), reinterpret_cast<const int32_t*>(bytes + 4 * x));
    r = ByteOf<0>(pixels);
    g = ByteOf<1>(pixels);
    b = ByteOf<2>(pixels);
  }
  HWY_INLINE Floats LoadGray(size_t x) const {
    const F32 d;
    Floats r = hn::Zero(d), g = r, b = r;
    Load(x, r, g, b);
    // ITU-R BT.601
    const auto luma = hn::MulAdd(r, hn::Set(d, 0.299f),
                                 hn::MulAdd(g, hn::Set(d, 0.587f), hn::Mul(b, hn::Set(d, 0.114f))));
    return hn::Round(luma);
  }
};

struct Levels {
  const uint8_t* bytes;
  HWY_INLINE Floats LoadGray(size_t x) const {
    const hn::Rebind<uint8_t, I32> d8;
    return hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::LoadU(d8, bytes + x)));
  }
  HWY_INLINE void Load(size_t x, Floats& r, Floats& g, Floats& b) const {
    r = g = b = LoadGray(x);
  }
};

HWY_INLINE Floats ToLevel(Floats value) {
  const F32 d;
  return hn::Round(hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f)));
}

template <bool kPairs>
struct Yuv {
  const SampleRow& row;
  HWY_INLINE void Load(size_t x, Floats& r, Floats& g, Floats& b) const {
    const F32 d;
    const YuvMatrix& m = row.matrix;
    Floats u = hn::Zero(d), v = u;
    if (kPairs) {
      hn::LoadInterleaved2(d, row.u + 2 * x, u, v);
    } else {
      u = hn::LoadU(d, row.u + x);
      v = hn::LoadU(d, row.v + x);
    }
    const auto luma = hn::Mul(hn::LoadU(d, row.y + x), hn::Set(d, m.y));
    r = ToLevel(hn::MulAdd(v, hn::Set(d, m.rv), hn::Add(luma, hn::Set(d, m.r0))));
    const auto green = hn::MulAdd(v, hn::Set(d, m.gv), hn::Add(luma, hn::Set(d, m.g0)));
    g = ToLevel(hn::MulAdd(u, hn::Set(d, m.gu), green));
    b = ToLevel(hn::MulAdd(u, hn::Set(d, m.bu), hn::Add(luma, hn::Set(d, m.b0))));
  }
  HWY_INLINE Floats LoadGray(size_t x) const {
    const F32 d;
    const auto scaled = hn::Mul(hn::LoadU(d, row.y + x), hn::Set(d, row.matrix.y));
    return ToLevel(hn::Add(scaled, hn::Set(d, row.matrix.luma0)));
  }
};

// --- sinks: elements of a type -----------------------------------------------------------------

HWY_INLINE Floats Normalised(Floats level, float mean, float scale) {
  const F32 d;
  return hn::Mul(hn::Sub(level, hn::Set(d, mean)), hn::Set(d, scale));
}

struct ToHalf {
  using T = half_t;
  HWY_INLINE void Store(Floats value, const ElementRule&, T* out) const {
    // See tensor/convert_half.cpp: where conversions are instructions.
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
  HWY_INLINE void Store(Floats value, const ElementRule&, T* out) const {
    hn::StoreU(value, F32(), out);
  }
};

template <typename Integer>
struct ToInteger {
  using T = Integer;
  HWY_INLINE void Store(Floats value, const ElementRule& rule, T* out) const {
    const F32 d;
    const hn::Rebind<Integer, I32> narrow;
    const auto steps = hn::MulAdd(value, hn::Set(d, rule.steps), hn::Set(d, rule.zero_point));
    // Within what an int16 holds, for conversions that do not clamp.
    const auto bounded = hn::Min(hn::Max(steps, hn::Set(d, -1024.0f)), hn::Set(d, 1024.0f));
    hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(bounded)), narrow, out);
  }
};

// --- rows --------------------------------------------------------------------------------------

template <class Source, class Sink>
HWY_INLINE void ColourRow(Source source, Sink sink, const ElementRule& rule, size_t pixels,
                          void* const out[3]) {
  using T = typename Sink::T;
  T* to[3] = {static_cast<T*>(out[0]), static_cast<T*>(out[1]), static_cast<T*>(out[2])};
  const ElementRule local = rule;  // stores cannot change it
  for (size_t x = 0; x < pixels; x += hn::Lanes(F32())) {
    Floats r = hn::Zero(F32()), g = r, b = r;
    source.Load(x, r, g, b);
    sink.Store(Normalised(r, local.mean[0], local.scale[0]), local, to[0] + x);
    sink.Store(Normalised(g, local.mean[1], local.scale[1]), local, to[1] + x);
    sink.Store(Normalised(b, local.mean[2], local.scale[2]), local, to[2] + x);
  }
}

template <class Source, class Sink>
HWY_INLINE void GrayRow(Source source, Sink sink, const ElementRule& rule, size_t pixels,
                        void* out) {
  auto* to = static_cast<typename Sink::T*>(out);
  for (size_t x = 0; x < pixels; x += hn::Lanes(F32())) {
    sink.Store(Normalised(source.LoadGray(x), rule.mean[0], rule.scale[0]), rule, to + x);
  }
}

// Calls f(sink) with the sink of a type.
template <class F>
HWY_INLINE void WithSink(ElementType type, F f) {
  switch (type) {
    case ElementType::kFloat16:
      return f(ToHalf());
    case ElementType::kFloat32:
      return f(ToFloat());
    case ElementType::kUint8:
      return f(ToInteger<uint8_t>());
    case ElementType::kInt8:
      return f(ToInteger<int8_t>());
  }
}

// Calls f(source) with the source of a row.
template <class F>
HWY_INLINE void WithSource(const SampleRow& row, F f) {
  switch (row.kind) {
    case SampleKind::kColours:
      return f(Colours{row.bytes});
    case SampleKind::kLevels:
      return f(Levels{row.bytes});
    case SampleKind::kYuvPlanar:
      return f(Yuv<false>{row});
    case SampleKind::kYuvPairs:
      return f(Yuv<true>{row});
  }
}

void ColourElements(const SampleRow& row, const ElementRule& rule, size_t pixels,
                    void* const out[3]) {
  WithSource(row, [&](auto source) HWY_ATTR {
    WithSink(rule.type,
             [&](auto sink) HWY_ATTR { ColourRow(source, sink, rule, pixels, out); });
  });
}

void GrayElements(const SampleRow& row, const ElementRule& rule, size_t pixels, void* out) {
  WithSource(row, [&](auto source) HWY_ATTR {
    WithSink(rule.type, [&](auto sink) HWY_ATTR { GrayRow(source, sink, rule, pixels, out); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(ColourElements);
HWY_EXPORT(GrayElements);

void colour_elements(const SampleRow& row, const ElementRule& rule, size_t pixels,
                     void* const out[3]) {
  HWY_DYNAMIC_DISPATCH(ColourElements)(row, rule, pixels, out);
}

void gray_elements(const SampleRow& row, const ElementRule& rule, size_t pixels, void* out) {
  HWY_DYNAMIC_DISPATCH(GrayElements)(row, rule, pixels, out);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
