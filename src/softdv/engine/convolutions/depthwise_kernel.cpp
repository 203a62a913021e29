// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/kernels.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/depthwise_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/convolutions/depthwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void DepthwiseRow(int kernel, int stride, size_t odd, const float* const* from,
                  const float* weights, const float* bias, size_t pixels, float* to,
                  const RegisterFinish* finish) {
#if HWY_TARGET == HWY_AVX2
  const SourceLines lines = {nullptr, 0, from, odd};
  if (kernel == 3 && (stride == 2 ? FinishLines<2>(lines, 1, weights, bias, pixels, finish)
                                  : FinishLines<1>(lines, 1, weights, bias, pixels, finish))) {
    return;
  }
#endif
  const Row row = {kernel, from, weights, bias, 8 * pixels, odd};
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  const bool narrow = row.count < hn::Lanes(wide);
  if (stride == 2) {
    return narrow ? MakeRow<2>(chunk, row, to, finish) : MakeRow<2>(wide, row, to, finish);
  }
  return narrow ? MakeRow<1>(chunk, row, to, finish) : MakeRow<1>(wide, row, to, finish);
}

// Splits pixels of 8 channels: even ones to one row, odd ones to another.
void SplitPixels(const half_t* from, size_t pixels, float* HWY_RESTRICT first,
                 float* HWY_RESTRICT second) {
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  size_t i = 0;
#if HWY_TARGET <= HWY_AVX3
  for (; i + 2 <= pixels; i += 2) {
    const auto both = LoadHalves(wide, from + 8 * i);
    hn::StoreU(hn::LowerHalf(chunk, both), chunk, first + 4 * i);
    hn::StoreU(hn::UpperHalf(chunk, both), chunk, second + 4 * i);
  }
#else
  (void)wide;
  for (; i + 2 <= pixels; i += 2) {
    for (size_t k = 0; k < 8; k += hn::Lanes(chunk)) {
      hn::StoreU(LoadHalves(chunk, from + 8 * i + k), chunk, first + 4 * i + k);
      hn::StoreU(LoadHalves(chunk, from + 8 * i + 8 + k), chunk, second + 4 * i + k);
    }
  }
#endif
  for (; i < pixels; ++i) {
    float* const to = (i % 2 ? second : first) + i / 2 * 8;
    for (size_t k = 0; k < 8; k += hn::Lanes(chunk)) {
      hn::StoreU(LoadHalves(chunk, from + 8 * i + k), chunk, to + k);
    }
  }
}

// Computes two rows of a 3x3 kernel with a stride of 1.
void DepthwiseTwoRows(const float* const* from, const float* weights, const float* bias,
                      size_t pixels, float* to, const RegisterFinish* finish) {
  const size_t count = 8 * pixels;
#if HWY_TARGET <= HWY_AVX3
  const hn::CappedTag<float, 16> wide;
  const Row row = {3, from, weights, bias, count, 0};
  if (MakePairs(wide, row, 1, 0, to, finish)) return;
#elif HWY_TARGET == HWY_AVX2
  if (FinishLines<1>({nullptr, 0, from, 0}, 2, weights, bias, pixels, finish)) return;
#endif
  DepthwiseRow(3, 1, 0, from, weights, bias, pixels, to, finish);
  if (!finish) return DepthwiseRow(3, 1, 0, from + 1, weights, bias, pixels, to + count, nullptr);
  RegisterFinish second = *finish;
  second.to += count;
  if (second.addend) second.addend += count;
  DepthwiseRow(3, 1, 0, from + 1, weights, bias, pixels, nullptr, &second);
}

// Returns one pixel of 8 floats (or a part of one) of a pooled row, from its four results, in the
// order of max_pool().
template <class D>
HWY_INLINE void FinishPooled(D d, hn::Vec<D> left, hn::Vec<D> right, size_t at, size_t lane,
                             const RegisterFinish& finish) {
  auto largest = hn::Max(left, right);
  const auto slope = finish.slopes ? hn::LoadU(d, finish.slopes + lane) : hn::Set(d, finish.slope);
  Activate(d, finish.activation, slope, &largest, 1);
  StoreHalves(d, largest, finish.to + at + lane);
}

// Computes the maximum of each 2x2 finished results of two rows of 3x3 with a stride of 1: `pixels`
// pixels from twice as many columns. `spare` has room for the two rows.
void DepthwisePooledRows(const float* const* from, const float* weights, const float* bias,
                         size_t pixels, float* HWY_RESTRICT spare, const RegisterFinish* finish) {
  const hn::CappedTag<float, 8> d;
  const size_t count = 16 * pixels;
#if HWY_TARGET <= HWY_AVX3
  const hn::CappedTag<float, 16> wide;
  if (hn::Lanes(wide) == 16) {
    const RegisterFinish to = *finish;
    const Row row = {3, from, weights, bias, count, 0};
    ConvolvePairs(wide, row, 1, 0, [=](auto upper, auto lower, size_t, size_t i) HWY_ATTR {
      const auto least = hn::Set(wide, -std::numeric_limits<float>::infinity());
      const auto larger = Larger(lower, Larger(upper, least));
      FinishPooled(d, hn::LowerHalf(d, larger), hn::UpperHalf(d, larger), i / 2, 0, to);
    });
    return;
  }
#endif
  DepthwiseTwoRows(from, weights, bias, 2 * pixels, spare, nullptr);
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
    for (size_t i = 0; i < count; i += 16) {
      const float* const upper = spare + i + lane;
      const float* const lower = upper + count;
      const auto left = Larger(hn::LoadU(d, lower), Larger(hn::LoadU(d, upper), least));
      const auto right = Larger(hn::LoadU(d, lower + 8), Larger(hn::LoadU(d, upper + 8), least));
      FinishPooled(d, left, right, i / 2, lane, *finish);
    }
  }
}

// Computes the rows of a small image from a tile of the source with its zeros: `width` floats a
// row.
void DepthwiseTile(const float* tile, size_t width, size_t rows, const float* weights,
                   const float* bias, size_t pixels, float* to, const RegisterFinish* finish) {
#if HWY_TARGET == HWY_AVX2
  if (FinishLines<1>({tile, width, nullptr, 0}, rows, weights, bias, pixels, finish)) return;
#endif
  const size_t count = 8 * pixels;
  size_t done = 0;
#if HWY_TARGET <= HWY_AVX3
  // The weights stay in registers for all pairs of rows.
  const float* const first[4] = {tile, tile + width, tile + 2 * width, tile + 3 * width};
  const Row row = {3, first, weights, bias, count, 0};
  if (MakePairs(hn::CappedTag<float, 16>(), row, rows / 2, 2 * width, to, finish)) {
    done = rows / 2 * 2;
  }
#endif
  for (size_t made = 0; done < rows; done += made) {
    const float* const line = tile + done * width;
    const float* const from[4] = {line, line + width, line + 2 * width, line + 3 * width};
    float* const floats = to ? to + done * count : nullptr;
    RegisterFinish at = {};
    if (finish) {
      at = *finish;
      at.to += done * count;
      if (at.addend) at.addend += done * count;
    }
    made = std::min<size_t>(2, rows - done);
    if (made == 2) {
      DepthwiseTwoRows(from, weights, bias, pixels, floats, finish ? &at : nullptr);
    } else {
      DepthwiseRow(3, 1, 0, from, weights, bias, pixels, floats, finish ? &at : nullptr);
    }
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(DepthwiseRow);
HWY_EXPORT(SplitPixels);
HWY_EXPORT(DepthwiseTwoRows);
HWY_EXPORT(DepthwisePooledRows);
HWY_EXPORT(DepthwiseTile);

}  // namespace

void depthwise_row(int kernel, int stride, size_t odd, const float* const* from,
                   const DepthwiseWeights& by, size_t pixels, float* to,
                   const RegisterFinish* finish) {
  HWY_DYNAMIC_DISPATCH(DepthwiseRow)
  (kernel, stride, odd, from, by.weights, by.bias, pixels, to, finish);
}

void split_pixels(const half_t* from, size_t pixels, float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(SplitPixels)(from, pixels, first, second);
}

void depthwise_two_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                        float* to, const RegisterFinish* finish) {
  HWY_DYNAMIC_DISPATCH(DepthwiseTwoRows)(from, by.weights, by.bias, pixels, to, finish);
}

void depthwise_pooled_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                           float* spare, const RegisterFinish& finish) {
  HWY_DYNAMIC_DISPATCH(DepthwisePooledRows)(from, by.weights, by.bias, pixels, spare, &finish);
}

void depthwise_tile(const float* tile, size_t width, size_t rows, const DepthwiseWeights& by,
                    size_t pixels, float* to, const RegisterFinish* finish) {
  HWY_DYNAMIC_DISPATCH(DepthwiseTile)
  (tile, width, rows, by.weights, by.bias, pixels, to, finish);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
