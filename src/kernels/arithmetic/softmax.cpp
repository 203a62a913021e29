// SPDX-License-Identifier: Apache-2.0
// Sums use vectors only across columns; along a row every form adds four partial sums, of every
// fourth element. So the order of additions, and with it the result, is the same everywhere.
#include "kernels/arithmetic/softmax.h"

#include <algorithm>
#include <cmath>

#include "kernels/arithmetic/exp_plain.h"
#include "kernels/movement/transpose.h"

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

void softmax(float* data, size_t outer, size_t count, size_t inner) {
  HWY_DYNAMIC_DISPATCH(Softmax)(data, outer, count, inner);
}

void softmax_columns(float* data, size_t count, size_t width) {
  HWY_DYNAMIC_DISPATCH(SoftmaxAllColumns)(data, count, width);
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

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
