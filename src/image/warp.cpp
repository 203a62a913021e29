// SPDX-License-Identifier: Apache-2.0
#include "image/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/warp.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using V = hn::Vec<I32>;

constexpr int kFractionBits = 5;  // positions are rounded to 1/32 of a pixel
constexpr int kFractions = 1 << kFractionBits;

// The two samples along an axis, as places in the bordered source, and the weight of the second
// one.
struct Places {
  V first, second, weight;
};

HWY_INLINE V Place(V sample, int size) {
  const I32 d;
  // Samples beyond the border repeat it.
  const V inside = hn::Min(hn::Max(sample, hn::Set(d, -1)), hn::Set(d, size));
  return hn::Add(inside, hn::Set(d, 1));
}

HWY_INLINE Places PlacesOf(int32_t start, const int32_t* HWY_RESTRICT steps, int size) {
  const I32 d;
  constexpr int kDropped = kWarpBits - kFractionBits;
  const V rounded = hn::Set(d, start + (1 << (kDropped - 1)));
  const V at = hn::ShiftRight<kDropped>(hn::Add(rounded, hn::LoadU(d, steps)));
  const V sample = hn::ShiftRight<kFractionBits>(at);
  return {Place(sample, size), Place(hn::Add(sample, hn::Set(d, 1)), size),
          hn::And(at, hn::Set(d, kFractions - 1))};
}

template <int kIndex>
HWY_INLINE V Channel(V pixel) {
  return hn::And(hn::ShiftRight<8 * kIndex>(pixel), hn::Set(I32(), 255));
}

// Interpolates a channel between four pixels, rounds once, and puts it at its byte of the result.
template <int kIndex>
HWY_INLINE V Blend(V a, V b, V c, V d, V wa, V wb, V wc, V wd) {
  const I32 tag;
  const V above = hn::Add(hn::Mul(Channel<kIndex>(a), wa), hn::Mul(Channel<kIndex>(b), wb));
  const V below = hn::Add(hn::Mul(Channel<kIndex>(c), wc), hn::Mul(Channel<kIndex>(d), wd));
  const V half = hn::Set(tag, kFractions * kFractions / 2);
  const V level = hn::ShiftRight<2 * kFractionBits>(hn::Add(hn::Add(above, below), half));
  return hn::ShiftLeft<8 * kIndex>(level);
}

void WarpRowOf(const WarpSource& source, const WarpRow& row, size_t count,
               uint8_t* HWY_RESTRICT out) {
  const I32 d;
  const auto* pixels = reinterpret_cast<const int32_t*>(source.pixels);
  const V pitch = hn::Set(d, source.pitch), all = hn::Set(d, kFractions);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const Places x = PlacesOf(row.x, row.dx + i, source.width);
    const Places y = PlacesOf(row.y, row.dy + i, source.height);
    const V above = hn::Mul(y.first, pitch), below = hn::Mul(y.second, pitch);
    const V a = hn::GatherIndex(d, pixels, hn::Add(above, x.first));
    const V b = hn::GatherIndex(d, pixels, hn::Add(above, x.second));
    const V c = hn::GatherIndex(d, pixels, hn::Add(below, x.first));
    const V e = hn::GatherIndex(d, pixels, hn::Add(below, x.second));
    const V left = hn::Sub(all, x.weight), upper = hn::Sub(all, y.weight);
    const V wa = hn::Mul(left, upper), wb = hn::Mul(x.weight, upper);
    const V wc = hn::Mul(left, y.weight), we = hn::Mul(x.weight, y.weight);
    const V red = Blend<0>(a, b, c, e, wa, wb, wc, we);
    const V green = Blend<1>(a, b, c, e, wa, wb, wc, we);
    const V blue = Blend<2>(a, b, c, e, wa, wb, wc, we);
    hn::StoreU(hn::Or(hn::Or(red, green), blue), d, reinterpret_cast<int32_t*>(out + 4 * i));
  }
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(WarpRowOf);

void warp_row(const WarpSource& source, const WarpRow& row, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(WarpRowOf)(source, row, count, out);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
