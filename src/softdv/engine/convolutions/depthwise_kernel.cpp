// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/depthwise_kernel.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/depthwise_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/finish/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A row of results of 8 channels. from[y]: the source row for the y-th row of taps, from the first
// tap of the first result on. `weights` and `bias` repeat over 16 floats, `weights` for each tap.
struct Row {
  int kernel;  // number of taps along each axis
  const float* const* from;
  const float* weights;
  const float* bias;
  size_t count;  // number of floats
  size_t odd;    // with a stride of 2: floats from the source's even pixels to its odd ones
};

// Returns where the x-th tap of a row's first result begins. With a stride of 2, the source's odd
// pixels come after the even ones, so that sources of adjacent results are adjacent there, too.
template <int kStride>
HWY_INLINE size_t TapPlace(const Row& row, size_t x) {
  return kStride == 1 ? 8 * x : x % 2 * row.odd + x / 2 * 8;
}

// Loads the floats of an odd tap, from `at` on. With a stride of 1 they are combined from the taps
// before and after it, because a vector of 16 would straddle two cache lines.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> LoadBetween(D d, const float* at, hn::Vec<D> before, hn::Vec<D> after) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16 && kStride == 1) {
    return hn::ConcatLowerUpper(d, after, before);
  }
#endif
  (void)before;
  (void)after;
  return hn::LoadU(d, at);
}

// A lane's nine weights and bias, which stay in registers.
template <class D>
struct Kernel3 {
  HWY_INLINE Kernel3(D d, const float* weights, const float* biases)
      : bias(hn::Load(d, biases)),
        w0(hn::Load(d, weights)),
        w1(hn::Load(d, weights + 16)),
        w2(hn::Load(d, weights + 32)),
        w3(hn::Load(d, weights + 48)),
        w4(hn::Load(d, weights + 64)),
        w5(hn::Load(d, weights + 80)),
        w6(hn::Load(d, weights + 96)),
        w7(hn::Load(d, weights + 112)),
        w8(hn::Load(d, weights + 128)) {}

  // Convolves by 3x3 with a sum for each row of taps. The rows' sources begin at r0, r1 and r2;
  // those of the second and third tap x1 and x2 floats after them.
  template <int kStride>
  HWY_INLINE hn::Vec<D> Convolve(D d, const float* r0, const float* r1, const float* r2, size_t x1,
                                 size_t x2) const {
    const auto a0 = hn::LoadU(d, r0), a2 = hn::LoadU(d, r0 + x2);
    const auto b0 = hn::LoadU(d, r1), b2 = hn::LoadU(d, r1 + x2);
    const auto c0 = hn::LoadU(d, r2), c2 = hn::LoadU(d, r2 + x2);
    auto a = hn::MulAdd(a0, w0, bias);
    auto b = hn::Mul(b0, w3);
    auto c = hn::Mul(c0, w6);
    a = hn::MulAdd(LoadBetween<kStride>(d, r0 + x1, a0, a2), w1, a);
    b = hn::MulAdd(LoadBetween<kStride>(d, r1 + x1, b0, b2), w4, b);
    c = hn::MulAdd(LoadBetween<kStride>(d, r2 + x1, c0, c2), w7, c);
    a = hn::MulAdd(a2, w2, a);
    b = hn::MulAdd(b2, w5, b);
    c = hn::MulAdd(c2, w8, c);
    return hn::Add(hn::Add(a, b), c);
  }

  hn::Vec<D> bias, w0, w1, w2, w3, w4, w5, w6, w7, w8;
};

// Convolves by 3x3. Calls take(vector, i) for the floats from `i` on.
template <int kStride, class D, class Take>
HWY_INLINE void ConvolveRow(D d, const Row& row, Take take) {
  const float *r0 = row.from[0], *r1 = row.from[1], *r2 = row.from[2];
  for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
    const Kernel3<D> kernel(d, row.weights + lane, row.bias + lane);
    const size_t step = std::max<size_t>(8, hn::Lanes(d));
    const size_t x1 = TapPlace<kStride>(row, 1), x2 = TapPlace<kStride>(row, 2);
    for (size_t i = lane; i < row.count; i += step) {
      // The last vector begins earlier, so that it does not reach beyond the row.
      const size_t to = i + hn::Lanes(d) > row.count ? row.count - hn::Lanes(d) : i;
      take(kernel.template Convolve<kStride>(d, r0 + to, r1 + to, r2 + to, x1, x2), to);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
// Computes two rows of results, for which row.from has one more source row. Both have the sums of
// ConvolveRow(), and share loads. Calls take(of the first row, of the second, i) for the floats
// from `i` on.
template <class D, class Take>
HWY_INLINE void ConvolvePairs(D d, const Row& row, Take take) {
  hn::Vec<D> weights[9], x0[4], x1[4], x2[4];
  HWY_UNROLL(9)
  for (size_t k = 0; k < 9; ++k) weights[k] = hn::Load(d, row.weights + 16 * k);
  const auto bias = hn::Load(d, row.bias);
  HWY_UNROLL(4)
  for (size_t y = 0; y < 4; ++y) x0[y] = hn::LoadU(d, row.from[y]);
  for (size_t i = 0; i < row.count; i += 16) {
    size_t at = i;
    if (HWY_UNLIKELY(i + 16 > row.count)) {
      // The last vector begins earlier, so that it does not reach beyond the row.
      at = row.count - 16;
      HWY_UNROLL(4)
      for (size_t y = 0; y < 4; ++y) x0[y] = hn::LoadU(d, row.from[y] + at);
    }
    HWY_UNROLL(4)
    for (size_t y = 0; y < 4; ++y) {
      x2[y] = hn::LoadU(d, row.from[y] + at + 16);
      x1[y] = hn::ConcatLowerUpper(d, x2[y], x0[y]);
    }
    hn::Vec<D> made[2];
    HWY_UNROLL(2)
    for (size_t line = 0; line < 2; ++line) {
      hn::Vec<D> sums[3];
      sums[0] = hn::MulAdd(x0[line], weights[0], bias);
      sums[1] = hn::Mul(x0[line + 1], weights[3]);
      sums[2] = hn::Mul(x0[line + 2], weights[6]);
      HWY_UNROLL(3)
      for (size_t y = 0; y < 3; ++y) {
        sums[y] = hn::MulAdd(x1[line + y], weights[3 * y + 1], sums[y]);
        sums[y] = hn::MulAdd(x2[line + y], weights[3 * y + 2], sums[y]);
      }
      made[line] = hn::Add(hn::Add(sums[0], sums[1]), sums[2]);
    }
    take(made[0], made[1], at);
    HWY_UNROLL(4)
    for (size_t y = 0; y < 4; ++y) x0[y] = x2[y];
  }
}

// The second row's floats come after the first one's.
template <class D, class Take>
HWY_INLINE void ConvolveTwoRows(D d, const Row& row, Take take) {
  ConvolvePairs(d, row, [&](auto first, auto second, size_t i) HWY_ATTR {
    take(first, i);
    take(second, row.count + i);
  });
}

// As MakeRow(), to which it leaves the rarer ways to finish.
template <class D>
HWY_INLINE bool MakeTwoRows(D d, const Row& row, float* HWY_RESTRICT to,
                            const RegisterFinish* finish) {
  if (!finish) {
    ConvolveTwoRows(d, row, [=](auto sum, size_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
    return true;
  }
  if (finish->addend) return false;
  half_t* HWY_RESTRICT const halves = finish->to;
  const auto slope = finish->slopes ? hn::LoadU(d, finish->slopes) : hn::Set(d, finish->slope);
  const auto make = [&](auto activation) HWY_ATTR {
    ConvolveTwoRows(d, row, [=](auto sum, size_t i) HWY_ATTR {
      Activate(d, activation, slope, &sum, 1);
      StoreHalves(d, sum, halves + i);
    });
  };
  WithActivation(finish->activation, make);
  return true;
}
#endif

#if HWY_TARGET == HWY_AVX2
// Source rows: `width` floats apart from `tile` on, or each where `rows` says.
struct SourceLines {
  const float* tile;
  size_t width;
  const float* const* rows;
  size_t odd;  // as Row's

  HWY_INLINE const float* Line(size_t y) const { return tile ? tile + y * width : rows[y]; }
};

// Finishes rows of 3x3, which lie one after the other: the weights are loaded once, and nothing is
// decided within the loops. With a stride of 2 there is one row. False for an addition, which it
// leaves to MakeRow(), or if results are floats.
template <int kStride>
HWY_INLINE bool FinishLines(const SourceLines& source, size_t rows, const float* weights,
                            const float* bias, size_t pixels, const RegisterFinish* finish) {
  if (!finish || finish->addend) return false;
  const hn::FixedTag<float, 8> d;
  half_t* HWY_RESTRICT const halves = finish->to;
  const auto slope = finish->slopes ? hn::LoadU(d, finish->slopes) : hn::Set(d, finish->slope);
  const Kernel3<decltype(d)> kernel(d, weights, bias);
  const size_t x1 = kStride == 1 ? 8 : source.odd, x2 = kStride == 1 ? 16 : 8;
  const auto make = [&](auto activation) HWY_ATTR {
    half_t* to = halves;
    for (size_t y = 0; y < rows; ++y) {
      const float *r0 = source.Line(y), *r1 = source.Line(y + 1), *r2 = source.Line(y + 2);
      for (size_t i = 0; i < 8 * pixels; i += 8, to += 8) {
        auto sum = kernel.template Convolve<kStride>(d, r0 + i, r1 + i, r2 + i, x1, x2);
        Activate(d, activation, slope, &sum, 1);
        StoreHalves(d, sum, to);
      }
    }
  };
  WithActivation(finish->activation, make);
  return true;
}
#endif

// 5x5: number of vectors per iteration, as registers allow. A row of vectors that are not the
// widest is one pixel, see DepthwiseRow().
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
template <class D>
constexpr size_t kMostVectors5 = hn::MaxLanes(D()) == hn::MaxLanes(hn::CappedTag<float, 16>()) ? 4
                                                                                               : 1;
#else
template <class D>
constexpr size_t kMostVectors5 = 1;
#endif

// Convolves kVectors vectors by 5x5, from `i` on, with a sum for each row of taps.
template <int kStride, size_t kVectors, class D, class Take>
HWY_INLINE void ConvolveVectors5(D d, const Row& row, size_t lane, size_t i, Take take) {
  constexpr size_t kStep = hn::MaxLanes(D()) < 8 ? 8 : hn::MaxLanes(D());
  const float* const weights = row.weights + lane;
  const size_t x1 = TapPlace<kStride>(row, 1), x2 = TapPlace<kStride>(row, 2);
  const size_t x3 = TapPlace<kStride>(row, 3), x4 = TapPlace<kStride>(row, 4);
  hn::Vec<D> sums[5][kVectors];
  HWY_UNROLL(5)
  for (size_t y = 0; y < 5; ++y) {
    const float* const taps = weights + y * 5 * 16;
    const auto w0 = hn::Load(d, taps), w1 = hn::Load(d, taps + 16), w2 = hn::Load(d, taps + 32);
    const auto w3 = hn::Load(d, taps + 48), w4 = hn::Load(d, taps + 64);
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      const float* const from = row.from[y] + i + v * kStep;
      const auto a = hn::LoadU(d, from), c = hn::LoadU(d, from + x2);
      const auto e = hn::LoadU(d, from + x4);
      auto sum = hn::Mul(a, w0);
      sum = hn::MulAdd(LoadBetween<kStride>(d, from + x1, a, c), w1, sum);
      sum = hn::MulAdd(c, w2, sum);
      sum = hn::MulAdd(LoadBetween<kStride>(d, from + x3, c, e), w3, sum);
      sums[y][v] = hn::MulAdd(e, w4, sum);
    }
  }
  const auto bias = hn::Load(d, row.bias + lane);
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto upper = hn::Add(hn::Add(sums[0][v], sums[1][v]), bias);
    take(hn::Add(hn::Add(upper, sums[2][v]), hn::Add(sums[3][v], sums[4][v])), i + v * kStep);
  }
}

// As ConvolveRow(); the last block begins earlier, so that it does not reach beyond the row.
template <int kStride, size_t kVectors, class D, class Take>
HWY_INLINE void ConvolveRow5(D d, const Row& row, Take take) {
  constexpr size_t kStep = hn::MaxLanes(D()) < 8 ? 8 : hn::MaxLanes(D());
  if constexpr (kVectors > 1) {
    if (row.count < kVectors * kStep) return ConvolveRow5<kStride, kVectors / 2>(d, row, take);
  }
  for (size_t lane = 0; lane < 8; lane += hn::MaxLanes(d)) {
    const size_t last = row.count - kVectors * kStep;
    for (size_t i = 0; i < row.count; i += kVectors * kStep) {
      ConvolveVectors5<kStride, kVectors>(d, row, lane, std::min(i, last) + lane, take);
    }
  }
}

template <int kStride, class D, class Take>
HWY_INLINE void ConvolveAnyRow(D d, const Row& row, Take take) {
  if (row.kernel == 5) return ConvolveRow5<kStride, kMostVectors5<D>>(d, row, take);
  ConvolveRow<kStride>(d, row, take);
}

// Makes a row of floats or, with `finish`, of finished results; its `slopes` repeat over 16 floats.
template <int kStride, class D>
HWY_INLINE void MakeRow(D d, const Row& row, float* HWY_RESTRICT to, const RegisterFinish* finish) {
  if (!finish) {
    ConvolveAnyRow<kStride>(d, row,
                            [=](auto sum, size_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
    return;
  }
  const RegisterFinish by = *finish;  // a copy, which the loop's stores cannot change
  ConvolveAnyRow<kStride>(d, row, [=](auto sum, size_t i) HWY_ATTR {
    if (by.addend) sum = hn::Add(sum, LoadHalves(d, by.addend + i));
    const auto slope = by.slopes ? hn::LoadU(d, by.slopes + i % 8) : hn::Set(d, by.slope);
    Activate(d, by.activation, slope, &sum, 1);
    StoreHalves(d, sum, by.to + i);
  });
}

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
  if (count >= hn::Lanes(wide) && MakeTwoRows(wide, row, to, finish)) return;
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
    ConvolvePairs(wide, row, [=](auto upper, auto lower, size_t i) HWY_ATTR {
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
  RegisterFinish at = {};
  if (finish) at = *finish;
  for (size_t row = 0, made = 0; row < rows; row += made) {
    const float* const from[4] = {tile, tile + width, tile + 2 * width, tile + 3 * width};
    made = std::min<size_t>(2, rows - row);
    if (made == 2) {
      DepthwiseTwoRows(from, weights, bias, pixels, to, finish ? &at : nullptr);
    } else {
      DepthwiseRow(3, 1, 0, from, weights, bias, pixels, to, finish ? &at : nullptr);
    }
    tile += made * width;
    if (to) to += made * 8 * pixels;
    if (finish) at.to += made * 8 * pixels;
    if (at.addend) at.addend += made * 8 * pixels;
  }
}

// Computes pixels of fewer than 8 channels, one source pixel apart: weights and bias repeat over
// `pattern` floats, a multiple of 16.
void RaggedDepthwiseRow(size_t kernel, size_t channels, size_t pattern, const float* const* from,
                        const float* weights, const float* bias, size_t pixels,
                        float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  size_t at = 0;  // position within the pattern
  for (size_t i = 0; i < channels * pixels; i += hn::Lanes(d)) {
    auto sum = hn::Load(d, bias + at);
    const float* weight = weights + at;
    for (size_t y = 0; y < kernel; ++y) {
      for (size_t x = 0; x < kernel; ++x, weight += pattern) {
        sum = hn::MulAdd(hn::LoadU(d, from[y] + i + x * channels), hn::Load(d, weight), sum);
      }
    }
    hn::StoreU(sum, d, to + i);
    at = at + hn::Lanes(d) == pattern ? 0 : at + hn::Lanes(d);
  }
}

// Taps of any kernel: where each begins for the first result.
struct Taps {
  const size_t* starts;
  size_t count;
  const float *weights, *bias;
};

// Computes kVectors vectors. `step`: floats between their sources; `made`: floats between their
// results.
template <size_t kVectors, class D>
HWY_INLINE void SumTaps(D d, const float* HWY_RESTRICT from, const Taps& taps, size_t lane,
                        size_t step, size_t made, float* HWY_RESTRICT to) {
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) sums[i] = hn::Load(d, taps.bias + lane);
  for (size_t k = 0; k < taps.count; ++k) {
    const auto weight = hn::Load(d, taps.weights + 16 * k + lane);
    const float* const at = from + taps.starts[k] + lane;
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(hn::LoadU(d, at + i * step), weight, sums[i]);
    }
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) hn::StoreU(sums[i], d, to + i * made + lane);
}

// Computes results in groups of `made` floats: a pixel, or a vector of two pixels.
template <class D>
HWY_INLINE void SumGroups(D d, const float* HWY_RESTRICT from, const Taps& taps, size_t step,
                          size_t made, size_t groups, float* HWY_RESTRICT to) {
  for (size_t lane = 0; lane < made; lane += hn::Lanes(d)) {
    size_t i = 0;
    for (; i + 4 <= groups; i += 4)
      SumTaps<4>(d, from + i * step, taps, lane, step, made, to + i * made);
    for (; i < groups; ++i) SumTaps<1>(d, from + i * step, taps, lane, step, made, to + i * made);
  }
}

void DepthwiseOfTaps(const float* HWY_RESTRICT from, const size_t* starts, size_t count,
                     size_t step, const float* weights, const float* bias, size_t pixels,
                     float* HWY_RESTRICT to) {
  const Taps taps = {starts, count, weights, bias};
  const hn::CappedTag<float, 16> pair;
  size_t done = 0;
  if (step == 8 && hn::Lanes(pair) == 16) {
    done = pixels - pixels % 2;
    SumGroups(pair, from, taps, 16, 16, pixels / 2, to);
  }
  const hn::CappedTag<float, 8> one;
  SumGroups(one, from + done * step, taps, step, 8, pixels - done, to + 8 * done);
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
HWY_EXPORT(RaggedDepthwiseRow);
HWY_EXPORT(DepthwiseOfTaps);

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

void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to) {
  HWY_DYNAMIC_DISPATCH(RaggedDepthwiseRow)
  (static_cast<size_t>(kernel), channels, pattern, from, by.weights, by.bias, pixels, to);
}

void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to) {
  HWY_DYNAMIC_DISPATCH(DepthwiseOfTaps)
  (from, taps, count, step, by.weights, by.bias, pixels, to);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
