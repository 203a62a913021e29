// SPDX-License-Identifier: Apache-2.0
// Sums of four rows by some vectors of columns, or of one row by eight vectors, stay in registers
// from the first product to the last.
#include "kernels/arithmetic/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/product.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Floats between the beginnings of a matrix's rows.
struct Strides {
  size_t b, to;
};

// As many vectors of columns by four rows as there are registers for.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kWide = 4;
#else
constexpr size_t kWide = 2;
#endif

// Multiplies some rows by some vectors of columns.
template <size_t kRows, size_t kVectors, class D>
HWY_INLINE void MultiplyTile(D d, const float* a, const float* b, float* to, size_t k,
                             const Strides& strides) {
  using V = hn::Vec<D>;
  V sums[kRows][kVectors];
  for (V(&row)[kVectors] : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  for (size_t i = 0; i < k; ++i, b += strides.b) {
    V columns[kVectors];
    for (size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * hn::Lanes(d));
    for (size_t r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a[r * k + i]);
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, columns[v], sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, to + r * strides.to + v * hn::Lanes(d));
    }
  }
}

// The last vector of columns begins earlier where it would end beyond them: some columns are
// computed twice, with the same result.
template <size_t kRows>
HWY_INLINE void MultiplyRows(const float* a, const float* b, float* to, size_t k, size_t n,
                             const Strides& strides) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> few;
  const hn::CappedTag<float, 1> one;
  const size_t lanes = hn::Lanes(d);
  // Sums of a single row wait for themselves if there are few.
  constexpr size_t kMost = kRows == 1 ? 8 : kWide;
  size_t j = 0;
  for (; j + kMost * lanes <= n; j += kMost * lanes) {
    MultiplyTile<kRows, kMost>(d, a, b + j, to + j, k, strides);
  }
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    MultiplyTile<kRows, 2>(d, a, b + j, to + j, k, strides);
  }
  for (; j + lanes <= n; j += lanes) MultiplyTile<kRows, 1>(d, a, b + j, to + j, k, strides);
  if (n >= lanes) {
    const size_t last = n - lanes;
    if (j < n) MultiplyTile<kRows, 1>(d, a, b + last, to + last, k, strides);
    return;
  }
  for (; j + hn::Lanes(few) <= n; j += hn::Lanes(few)) {
    MultiplyTile<kRows, 1>(few, a, b + j, to + j, k, strides);
  }
  for (; j < n; ++j) MultiplyTile<kRows, 1>(one, a, b + j, to + j, k, strides);
}

void Multiply(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT to,
              size_t m, size_t k, size_t n, size_t stride_b, size_t stride_to) {
  const Strides strides = {stride_b, stride_to};
  size_t i = 0;
  for (; i + 4 <= m; i += 4) MultiplyRows<4>(a + i * k, b, to + i * stride_to, k, n, strides);
  for (; i < m; ++i) MultiplyRows<1>(a + i * k, b, to + i * stride_to, k, n, strides);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Multiply);

void multiply(const float* a, const float* b, float* to, size_t m, size_t k, size_t n) {
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, to, m, k, n, n, n);
}

void multiply_panel(const float* a, const float* panel, float* to, size_t m, size_t k, size_t n,
                    size_t stride) {
  HWY_DYNAMIC_DISPATCH(Multiply)(a, panel, to, m, k, n, n, stride);
}

namespace plain {

void multiply(const float* a, const float* b, float* to, size_t m, size_t k, size_t n) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (size_t t = 0; t < k; ++t) sum += a[i * k + t] * b[t * n + j];
      to[i * n + j] = sum;
    }
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
