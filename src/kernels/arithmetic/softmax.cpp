// SPDX-License-Identifier: Apache-2.0
// Sums use vectors only across columns; along a row every form adds four partial sums, of every
// fourth element, or sixteen in softmax_powers(). So the order of additions, and with it the
// result, is the same everywhere.
#include "kernels/arithmetic/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/exp_plain.h"
#include "kernels/movement/movement.h"

#ifndef DVNN_KERNELS_SOFTMAX_ONCE
#define DVNN_KERNELS_SOFTMAX_ONCE
namespace dvnn::kernels {
namespace {

float sum_of_row(const float* row, size_t count) {
  float sums[4] = {0, 0, 0, 0};
  size_t k = 0;
  for (; k + 4 <= count; k += 4) {
    for (size_t i = 0; i < 4; ++i) sums[i] += row[k + i];
  }
  for (size_t i = 0; k < count; ++k, ++i) sums[i] += row[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace
}  // namespace dvnn::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/softmax.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/arithmetic/exp-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Returns the largest value as std::max_element does: a NaN counts only if it is the first.
HWY_INLINE float LargestOfRow(const float* row, size_t count) {
  const hn::ScalableTag<float> d;
  float top = row[0];
  size_t i = 0;
  if (count >= hn::Lanes(d)) {
    auto most = hn::Set(d, top);
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      most = MaxOf(most, hn::LoadU(d, row + i));
    }
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(most, d, lanes);
    for (size_t k = 0; k < hn::Lanes(d); ++k) top = std::max(top, lanes[k]);
  }
  for (; i < count; ++i) top = std::max(top, row[i]);
  return top;
}

// Short rows are transposed, so that a vector holds the same element of several rows. The sums are
// those of sum_of_row().
constexpr size_t kMostShort = 16, kTurnedRows = 64;
void SoftmaxShortRows(float* rows, size_t some, size_t count) {
  HWY_ALIGN float turned[kMostShort * kTurnedRows];
  const auto stride = static_cast<ptrdiff_t>(count);
  auto words = [](float* floats) { return reinterpret_cast<uint32_t*>(floats); };
  transpose(words(rows), stride, words(turned), kTurnedRows, count, some);
  float* const first = turned;
  ForEachVector(some, [=](auto d, size_t i) HWY_ATTR {
    auto top = hn::LoadU(d, first + i);
    for (size_t k = 1; k < count; ++k) top = MaxOf(top, hn::LoadU(d, first + k * kTurnedRows + i));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (size_t k = 0; k < count; ++k) {
      float* const at = first + k * kTurnedRows + i;
      const auto power = ExpOfNegative(d, hn::Sub(hn::LoadU(d, at), top));
      hn::StoreU(power, d, at);
      if (k % 4 == 0) s0 = hn::Add(s0, power);
      if (k % 4 == 1) s1 = hn::Add(s1, power);
      if (k % 4 == 2) s2 = hn::Add(s2, power);
      if (k % 4 == 3) s3 = hn::Add(s3, power);
    }
    const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    for (size_t k = 0; k < count; ++k) {
      float* const at = first + k * kTurnedRows + i;
      hn::StoreU(Divide(hn::LoadU(d, at), sum), d, at);
    }
  });
  transpose(words(turned), kTurnedRows, words(rows), stride, some, count);
}

// Computes blocks of rows, so that short rows fill whole vectors of exponentials, too.
void SoftmaxRows(float* rows, size_t count_rows, size_t count) {
  for (; count <= kMostShort && count_rows >= hn::Lanes(hn::ScalableTag<float>());) {
    const size_t some = std::min(count_rows, kTurnedRows);
    SoftmaxShortRows(rows, some, count);
    rows += some * count;
    count_rows -= some;
  }
  constexpr size_t kBlockFloats = 2048;
  const size_t block = std::max<size_t>(1, kBlockFloats / count);
  for (size_t first = 0; first < count_rows; first += block) {
    const size_t some = std::min(block, count_rows - first);
    float* const begin = rows + first * count;
    for (size_t r = 0; r < some; ++r) {
      float* const row = begin + r * count;
      const float top = LargestOfRow(row, count);
      for (size_t k = 0; k < count; ++k) row[k] -= top;
    }
    ForEachVector(some * count, [=](auto d, size_t i) HWY_ATTR {
      hn::StoreU(ExpOfNegative(d, hn::LoadU(d, begin + i)), d, begin + i);
    });
    for (size_t r = 0; r < some; ++r) {
      float* const row = begin + r * count;
      const float sum = sum_of_row(row, count);
      for (size_t k = 0; k < count; ++k) row[k] /= sum;
    }
  }
}

// Softmax of `width` adjacent columns; rows are `stride` floats apart.
constexpr size_t kMostColumns = 256;
void SoftmaxColumns(float* first, size_t width, size_t count, size_t stride) {
  HWY_ALIGN float top[kMostColumns], sum[kMostColumns];
  std::copy(first, first + width, top);
  std::fill(sum, sum + width, 0.0f);
  for (size_t k = 1; k < count; ++k) {
    const float* row = first + k * stride;
    ForEachVector(width, [&](auto d, size_t i) HWY_ATTR {
      hn::StoreU(MaxOf(hn::LoadU(d, top + i), hn::LoadU(d, row + i)), d, top + i);
    });
  }
  for (size_t k = 0; k < count; ++k) {
    float* row = first + k * stride;
    ForEachVector(width, [&](auto d, size_t i) HWY_ATTR {
      const auto power = ExpOfNegative(d, hn::Sub(hn::LoadU(d, row + i), hn::LoadU(d, top + i)));
      hn::StoreU(power, d, row + i);
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), power), d, sum + i);
    });
  }
  for (size_t k = 0; k < count; ++k) {
    float* row = first + k * stride;
    ForEachVector(width, [&](auto d, size_t i) HWY_ATTR {
      hn::StoreU(Divide(hn::LoadU(d, row + i), hn::LoadU(d, sum + i)), d, row + i);
    });
  }
}

void SoftmaxAllColumns(float* data, size_t count, size_t width) {
  for (size_t i = 0; i < width; i += kMostColumns) {
    SoftmaxColumns(data + i, std::min(kMostColumns, width - i), count, width);
  }
}

// Sixteen numbers.
using PowersTag = hn::CappedTag<float, kPowersAlignment>;
constexpr size_t kPowersVectors = kPowersAlignment / hn::MaxLanes(PowersTag());
using Powers = hn::Vec<PowersTag>[kPowersVectors];

// Combines sixteen numbers, halves with halves, in the order of plain::fold_powers().
template <class F>
HWY_INLINE float FoldPowers(const Powers& powers, F f) {
  const PowersTag d;
  const hn::CappedTag<float, 4> few;
  HWY_ALIGN float all[kPowersAlignment], four[4];
  for (size_t v = 0; v < kPowersVectors; ++v) hn::Store(powers[v], d, all + v * hn::Lanes(d));
  for (size_t i = 0; i < 4; i += hn::Lanes(few)) {
    const auto first = f(hn::Load(few, all + i), hn::Load(few, all + i + 8));
    const auto last = f(hn::Load(few, all + i + 4), hn::Load(few, all + i + 12));
    hn::Store(f(first, last), few, four + i);
  }
  const hn::CappedTag<float, 1> one;
  const auto at = [&](size_t i) HWY_ATTR { return hn::Set(one, four[i]); };
  return hn::GetLane(f(f(at(0), at(2)), f(at(1), at(3))));
}

// Returns the largest number of a row of whole sixteens as LargestOfRow() does.
HWY_INLINE float LargestOfPowers(const float* row, size_t count) {
  const PowersTag d;
  // MaxOf() in one step.
  const auto larger = [](auto a, auto b) HWY_ATTR {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
    return hn::Max(b, a);  // the second operand where one is NaN or both are 0
#else
    return MaxOf(a, b);
#endif
  };
  Powers even, odd;
  for (auto& most : even) most = hn::Set(d, row[0]);
  for (auto& most : odd) most = hn::Set(d, row[0]);
  const auto see = [&](size_t k, Powers& most) HWY_ATTR {
    for (size_t v = 0; v < kPowersVectors; ++v) {
      most[v] = larger(most[v], hn::LoadU(d, row + k + v * hn::Lanes(d)));
    }
  };
  size_t k = 0;
  for (; k + 2 * kPowersAlignment <= count; k += 2 * kPowersAlignment) {
    see(k, even);
    see(k + kPowersAlignment, odd);
  }
  if (k < count) see(k, even);
  for (size_t v = 0; v < kPowersVectors; ++v) even[v] = larger(even[v], odd[v]);
  return FoldPowers(even, larger);
}

// Returns e^x for x of at most 0, or NaN, as precisely as Exp(), by fewer steps that wait for one
// another. What the steps make of an x below kLeast does not matter.
template <class D, class V>
HWY_INLINE V FusedPower(D d, V x) {
  using namespace exp_constants;
  static_assert(kTerms == 6);
  const hn::RebindToSigned<D> whole;
  const auto shift = hn::Set(d, 12582912.0f), one = hn::Set(d, 1.0f);
  const auto is_zero = hn::Lt(x, hn::Set(d, kLeast));
  const V shifted = hn::MulAdd(x, hn::Set(d, kLog2E), shift);
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(whole, shifted));
  const V power = hn::BitCast(d, hn::Add(exponent, hn::BitCast(whole, one)));
  const V n = hn::Sub(shifted, shift);
  V r = hn::NegMulAdd(n, hn::Set(d, kLog2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, kLog2Low), r);
  const V square = hn::Mul(r, r);
  const auto pair = [&](int i) HWY_ATTR {
    return hn::MulAdd(hn::Set(d, kPolynomial[i]), r, hn::Set(d, kPolynomial[i + 1]));
  };
  V y = hn::MulAdd(hn::MulAdd(pair(0), square, pair(2)), square, pair(4));
  y = hn::MulAdd(y, square, r);
  return hn::IfThenZeroElse(is_zero, hn::MulAdd(y, power, power));
}

// Computes whole vectors: what lies behind a row counts as -inf.
void SoftmaxPowers(const PowerRows& rows, float scale, float* inverses) {
  const PowersTag d;
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto factor = hn::Set(d, scale);
  const size_t whole = (rows.count + kPowersAlignment - 1) / kPowersAlignment * kPowersAlignment;
  for (size_t r = 0; r < rows.rows; ++r) {
    float* const row = rows.first + r * rows.stride;
    for (size_t k = whole - kPowersAlignment; k < whole; k += hn::Lanes(d)) {
      const auto inside = hn::FirstN(d, rows.count > k ? rows.count - k : 0);
      hn::StoreU(hn::IfThenElse(inside, hn::LoadU(d, row + k), none), d, row + k);
    }
    const auto most = hn::Set(d, LargestOfPowers(row, whole));
    Powers sums;
    for (auto& sum : sums) sum = hn::Zero(d);
    for (size_t k = 0; k < whole; k += kPowersAlignment) {
      for (size_t v = 0; v < kPowersVectors; ++v) {
        float* const at = row + k + v * hn::Lanes(d);
        const auto power = FusedPower(d, hn::Mul(hn::Sub(hn::LoadU(d, at), most), factor));
        hn::StoreU(power, d, at);
        sums[v] = hn::Add(sums[v], power);
      }
    }
    const auto sum = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    inverses[r] = 1.0f / FoldPowers(sums, sum);
  }
}

void Softmax(float* data, size_t outer, size_t count, size_t inner) {
  if (inner == 1) return SoftmaxRows(data, outer, count);
  for (size_t o = 0; o < outer; ++o) SoftmaxAllColumns(data + o * count * inner, count, inner);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Softmax);
HWY_EXPORT(SoftmaxAllColumns);
HWY_EXPORT(SoftmaxPowers);

void softmax(float* data, size_t outer, size_t count, size_t inner) {
  HWY_DYNAMIC_DISPATCH(Softmax)(data, outer, count, inner);
}

void softmax_columns(float* data, size_t count, size_t width) {
  HWY_DYNAMIC_DISPATCH(SoftmaxAllColumns)(data, count, width);
}

void softmax_powers(const PowerRows& rows, float scale, float* inverses) {
  HWY_DYNAMIC_DISPATCH(SoftmaxPowers)(rows, scale, inverses);
}

namespace plain {
namespace {

void softmax_along(float* first, size_t count, size_t stride, bool is_row) {
  float top = first[0], sum = 0;
  for (size_t k = 1; k < count; ++k) top = std::max(top, first[k * stride]);
  for (size_t k = 0; k < count; ++k) first[k * stride] = plain::exp(first[k * stride] - top);
  if (is_row) {
    sum = sum_of_row(first, count);
  } else {
    for (size_t k = 0; k < count; ++k) sum += first[k * stride];
  }
  for (size_t k = 0; k < count; ++k) first[k * stride] /= sum;
}

}  // namespace

void softmax(float* data, size_t outer, size_t count, size_t inner) {
  for (size_t n = 0; n < outer * inner; ++n) {
    softmax_along(data + n / inner * count * inner + n % inner, count, inner, inner == 1);
  }
}

void softmax_columns(float* data, size_t count, size_t width) {
  for (size_t i = 0; i < width; ++i) softmax_along(data + i, count, width, false);
}

static float fold_powers(float* sums) {
  for (size_t half = kPowersAlignment / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] += sums[half + i];
  }
  return sums[0];
}

void softmax_powers(const PowerRows& rows, float scale, float* inverses) {
  for (size_t r = 0; r < rows.rows; ++r) {
    float* const row = rows.first + r * rows.stride;
    float top = row[0], sums[kPowersAlignment] = {};
    for (size_t k = 1; k < rows.count; ++k) top = std::max(top, row[k]);
    for (size_t k = 0; k < rows.count; ++k) {
      row[k] = plain::exp((row[k] - top) * scale);
      sums[k % kPowersAlignment] += row[k];
    }
    inverses[r] = 1.0f / fold_powers(sums);
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
