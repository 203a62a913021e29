// SPDX-License-Identifier: Apache-2.0
// The sums of depthwise rows of 3x3 and 5x5, and how they are finished, for every instruction set.

// A guard for each target, as in Highway's own -inl headers.
#if defined(DVNN_SOFTDV_DEPTHWISE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_SOFTDV_DEPTHWISE_ROWS_INL_H
#undef DVNN_SOFTDV_DEPTHWISE_ROWS_INL_H
#else
#define DVNN_SOFTDV_DEPTHWISE_ROWS_INL_H
#endif

#include <algorithm>

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
// Computes pairs of rows of results, for which row.from has one more source row: that of the first
// pair, `step` floats before those of the next. Both have the sums of ConvolveRow(), and share
// loads. Calls take(of a pair's first row, of its second, pair, i) for the floats from `i` on.
template <class D, class Take>
HWY_INLINE void ConvolvePairs(D d, const Row& row, size_t pairs, size_t step, Take take) {
  hn::Vec<D> weights[9], x0[4], x1[4], x2[4];
  HWY_UNROLL(9)
  for (size_t k = 0; k < 9; ++k) weights[k] = hn::Load(d, row.weights + 16 * k);
  const auto bias = hn::Load(d, row.bias);
  const float* from[4] = {row.from[0], row.from[1], row.from[2], row.from[3]};
  for (size_t pair = 0; pair < pairs; ++pair) {
    HWY_UNROLL(4)
    for (size_t y = 0; y < 4; ++y) x0[y] = hn::LoadU(d, from[y]);
    for (size_t i = 0; i < row.count; i += 16) {
      size_t at = i;
      if (HWY_UNLIKELY(i + 16 > row.count)) {
        // The last vector begins earlier, so that it does not reach beyond the row.
        at = row.count - 16;
        HWY_UNROLL(4)
        for (size_t y = 0; y < 4; ++y) x0[y] = hn::LoadU(d, from[y] + at);
      }
      HWY_UNROLL(4)
      for (size_t y = 0; y < 4; ++y) {
        x2[y] = hn::LoadU(d, from[y] + at + 16);
        x1[y] = hn::LoadU(d, from[y] + at + 8);
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
      take(made[0], made[1], pair, at);
      HWY_UNROLL(4)
      for (size_t y = 0; y < 4; ++y) x0[y] = x2[y];
    }
    HWY_UNROLL(4)
    for (size_t y = 0; y < 4; ++y) from[y] += step;
  }
}

// As ConvolvePairs(); rows' floats come one after the other.
template <class D, class Take>
HWY_INLINE void ConvolveLines(D d, const Row& row, size_t pairs, size_t step, Take take) {
  ConvolvePairs(d, row, pairs, step, [&](auto first, auto second, size_t pair, size_t i) HWY_ATTR {
    take(first, 2 * pair * row.count + i);
    take(second, (2 * pair + 1) * row.count + i);
  });
}

// As MakeRow(), to which it leaves the rarer ways to finish and short rows.
template <class D>
HWY_INLINE bool MakePairs(D d, const Row& row, size_t pairs, size_t step, float* HWY_RESTRICT to,
                          const RegisterFinish* finish) {
  if (row.count < hn::Lanes(d)) return false;
  if (!finish) {
    ConvolveLines(d, row, pairs, step,
                  [=](auto sum, size_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
    return true;
  }
  if (finish->addend) return false;
  half_t* HWY_RESTRICT const halves = finish->to;
  const auto slope = finish->slopes ? hn::LoadU(d, finish->slopes) : hn::Set(d, finish->slope);
  const auto make = [&](auto activation) HWY_ATTR {
    ConvolveLines(d, row, pairs, step, [=](auto sum, size_t i) HWY_ATTR {
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
  const auto slope = finish->slopes ? hn::LoadU(d, finish->slopes) : hn::Set(d, finish->slope);
  const size_t x1 = kStride == 1 ? 8 : source.odd, x2 = kStride == 1 ? 16 : 8;
  const auto make = [&](auto activation) HWY_ATTR {
    // Made here: compilers would load the weights of an object outside again for each result.
    const Kernel3<decltype(d)> kernel(d, weights, bias);
    const size_t count = 8 * pixels;
    half_t* HWY_RESTRICT to = finish->to;
    for (size_t y = 0; y < rows; ++y, to += count) {
      const float *r0 = source.Line(y), *r1 = source.Line(y + 1), *r2 = source.Line(y + 2);
      for (size_t i = 0; i < count; i += 8) {
        auto sum = kernel.template Convolve<kStride>(d, r0 + i, r1 + i, r2 + i, x1, x2);
        Activate(d, activation, slope, &sum, 1);
        StoreHalves(d, sum, to + i);
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

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
