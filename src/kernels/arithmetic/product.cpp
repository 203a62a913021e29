// SPDX-License-Identifier: Apache-2.0
// Sums of four rows by two vectors of columns, or of one row by eight vectors, stay in registers
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

// Multiplies kRows rows by two vectors of columns.
template <size_t kRows, class D>
HWY_INLINE void MultiplyTwo(D d, const float* a, const float* b, float* to, size_t k,
                            const Strides& strides) {
  const size_t lanes = hn::Lanes(d), n = strides.to;
  auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00;
  auto s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (size_t i = 0; i < k; ++i, b += strides.b) {
    const auto b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
    const auto x = hn::Set(d, a[i]);
    s00 = hn::Add(s00, hn::Mul(x, b0));
    s01 = hn::Add(s01, hn::Mul(x, b1));
    if constexpr (kRows == 4) {
      const auto y = hn::Set(d, a[k + i]), z = hn::Set(d, a[2 * k + i]);
      const auto w = hn::Set(d, a[3 * k + i]);
      s10 = hn::Add(s10, hn::Mul(y, b0));
      s11 = hn::Add(s11, hn::Mul(y, b1));
      s20 = hn::Add(s20, hn::Mul(z, b0));
      s21 = hn::Add(s21, hn::Mul(z, b1));
      s30 = hn::Add(s30, hn::Mul(w, b0));
      s31 = hn::Add(s31, hn::Mul(w, b1));
    }
  }
  hn::StoreU(s00, d, to);
  hn::StoreU(s01, d, to + lanes);
  if constexpr (kRows == 4) {
    hn::StoreU(s10, d, to + n);
    hn::StoreU(s11, d, to + n + lanes);
    hn::StoreU(s20, d, to + 2 * n);
    hn::StoreU(s21, d, to + 2 * n + lanes);
    hn::StoreU(s30, d, to + 3 * n);
    hn::StoreU(s31, d, to + 3 * n + lanes);
  }
}

// Multiplies one row by eight vectors of columns: with two, each sum would wait for itself.
template <class D>
HWY_INLINE void MultiplyEight(D d, const float* a, const float* b, float* to, size_t k,
                              size_t stride_b) {
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  const auto add = [d, lanes](auto* sum, auto x, const float* from, size_t i) HWY_ATTR {
    *sum = hn::Add(*sum, hn::Mul(x, hn::LoadU(d, from + i * lanes)));
  };
  for (size_t i = 0; i < k; ++i, b += stride_b) {
    const auto x = hn::Set(d, a[i]);
    add(&s0, x, b, 0);
    add(&s1, x, b, 1);
    add(&s2, x, b, 2);
    add(&s3, x, b, 3);
    add(&s4, x, b, 4);
    add(&s5, x, b, 5);
    add(&s6, x, b, 6);
    add(&s7, x, b, 7);
  }
  hn::StoreU(s0, d, to);
  hn::StoreU(s1, d, to + lanes);
  hn::StoreU(s2, d, to + 2 * lanes);
  hn::StoreU(s3, d, to + 3 * lanes);
  hn::StoreU(s4, d, to + 4 * lanes);
  hn::StoreU(s5, d, to + 5 * lanes);
  hn::StoreU(s6, d, to + 6 * lanes);
  hn::StoreU(s7, d, to + 7 * lanes);
}

// Multiplies some rows by one vector of columns.
template <class D>
HWY_INLINE void MultiplyOne(D d, const float* a, const float* b, float* to, size_t rows, size_t k,
                            const Strides& strides) {
  for (size_t r = 0; r < rows; ++r) {
    auto sum = hn::Zero(d);
    for (size_t i = 0; i < k; ++i) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, a[r * k + i]), hn::LoadU(d, b + i * strides.b)));
    }
    hn::StoreU(sum, d, to + r * strides.to);
  }
}

template <size_t kRows>
HWY_INLINE void MultiplyRows(const float* a, const float* b, float* to, size_t k, size_t n,
                             const Strides& strides) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> few;
  const hn::CappedTag<float, 1> one;
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  if constexpr (kRows == 1) {
    for (; j + 8 * lanes <= n; j += 8 * lanes) MultiplyEight(d, a, b + j, to + j, k, strides.b);
  }
  for (; j + 2 * lanes <= n; j += 2 * lanes) MultiplyTwo<kRows>(d, a, b + j, to + j, k, strides);
  for (; j + lanes <= n; j += lanes) MultiplyOne(d, a, b + j, to + j, kRows, k, strides);
  for (; j + hn::Lanes(few) <= n; j += hn::Lanes(few)) {
    MultiplyOne(few, a, b + j, to + j, kRows, k, strides);
  }
  for (; j < n; ++j) MultiplyOne(one, a, b + j, to + j, kRows, k, strides);
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
