// SPDX-License-Identifier: Apache-2.0
// Sums of six rows by some vectors of columns, or of one row by eight vectors, stay in registers
// from the first product to the last. All rows pass some columns before the next ones, which so
// stay in the first-level cache.
#include "kernels/arithmetic/reductions.h"

#include <type_traits>

#ifndef DVNN_KERNELS_PRODUCT_ONCE
#define DVNN_KERNELS_PRODUCT_ONCE
namespace dvnn::kernels {
namespace {

// Floats between the beginnings of a matrix's rows.
struct ProductStrides {
  size_t a, b, to;
};

}  // namespace
}  // namespace dvnn::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/product.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As many vectors of columns by kProductRows rows as there are registers for: with one for each
// column and one for a number of `a`.
constexpr size_t kProductRows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kWide = 4;
#else
constexpr size_t kWide = 2;
#endif

// Multiplies some rows by some vectors of columns.
template <size_t kSome, size_t kVectors, class D>
HWY_INLINE void MultiplyTile(D d, const float* a, const float* b, float* to, size_t k,
                             const ProductStrides& strides) {
  using V = hn::Vec<D>;
  V sums[kSome][kVectors];
  for (V(&row)[kVectors] : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  for (size_t i = 0; i < k; ++i, b += strides.b) {
    V columns[kVectors];
    for (size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * hn::Lanes(d));
    for (size_t r = 0; r < kSome; ++r) {
      const auto x = hn::Set(d, a[r * strides.a + i]);
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, columns[v], sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kSome; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, to + r * strides.to + v * hn::Lanes(d));
    }
  }
}

// Multiplies all rows by some vectors of columns.
template <size_t kVectors, class D>
HWY_NOINLINE void MultiplyColumns(D d, const float* a, const float* b, float* to, size_t m,
                                  size_t k, const ProductStrides& strides) {
  size_t i = 0;
  const auto tile = [&](auto some) HWY_ATTR {
    constexpr size_t kSome = decltype(some)::value;
    for (; i + kSome <= m; i += kSome) {
      MultiplyTile<kSome, kVectors>(d, a + i * strides.a, b, to + i * strides.to, k, strides);
    }
  };
  tile(std::integral_constant<size_t, kProductRows>());
  tile(std::integral_constant<size_t, 2>());
  tile(std::integral_constant<size_t, 1>());
}

// For fewer columns than a vector has lanes.
void MultiplyFew(const float* a, const float* b, float* to, size_t m, size_t k, size_t n,
                 const ProductStrides& strides) {
  const hn::CappedTag<float, 4> few;
  const hn::CappedTag<float, 1> one;
  size_t j = 0;
  for (; j + hn::Lanes(few) <= n; j += hn::Lanes(few)) {
    MultiplyColumns<1>(few, a, b + j, to + j, m, k, strides);
  }
  for (; j < n; ++j) MultiplyColumns<1>(one, a, b + j, to + j, m, k, strides);
}

// The last vector of columns begins earlier where it would end beyond them: some columns are
// computed twice, with the same result.
void Multiply(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT to,
              size_t m, size_t k, size_t n, const ProductStrides& strides) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) return MultiplyFew(a, b, to, m, k, n, strides);
  const auto columns = [&](size_t vectors, size_t at) HWY_ATTR {
    if (kWide > 3 && vectors > 3) MultiplyColumns<kWide>(d, a, b + at, to + at, m, k, strides);
    if (kWide > 2 && vectors == 3) MultiplyColumns<kWide - 1>(d, a, b + at, to + at, m, k, strides);
    if (vectors == 2) MultiplyColumns<2>(d, a, b + at, to + at, m, k, strides);
    if (vectors == 1) MultiplyColumns<1>(d, a, b + at, to + at, m, k, strides);
  };
  // Sums of a single row wait for themselves if there are few.
  constexpr size_t kMost = 8;
  size_t j = 0;
  for (; m == 1 && j + kMost * lanes <= n; j += kMost * lanes) {
    MultiplyTile<1, kMost>(d, a, b + j, to + j, k, strides);
  }
  for (; j + kWide * lanes <= n; j += kWide * lanes) columns(kWide, j);
  if (j == n) return;
  size_t rest = (n - j + lanes - 1) / lanes;
  if (rest * lanes > n) {
    columns(--rest, j);
    rest = 1;
  }
  columns(rest, n - rest * lanes);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Multiply);

void multiply(const float* a, const float* b, float* to, size_t m, size_t k, size_t n) {
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, to, m, k, n, {k, n, n});
}

void multiply_panel(const float* a, const float* panel, float* to, size_t m, size_t k, size_t n,
                    size_t stride) {
  HWY_DYNAMIC_DISPATCH(Multiply)(a, panel, to, m, k, n, {k, n, stride});
}

void multiply_rows(const float* a, size_t stride, const float* b, float* to, size_t m, size_t k,
                   size_t n) {
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, to, m, k, n, {stride, n, n});
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
