// SPDX-License-Identifier: Apache-2.0
#include "image/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/transpose.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void TransposeScalar(const T* from, size_t pitch, size_t rows, size_t columns, T* to,
                     ptrdiff_t stride) {
  for (size_t x = 0; x < columns; ++x) {
    T* column = to + static_cast<ptrdiff_t>(x) * stride;
    for (size_t r = 0; r < rows; ++r) column[r] = from[r * pitch + x];
  }
}

#if HWY_TARGET == HWY_SCALAR
template <typename T>
void TransposeOf(const T* from, size_t pitch, size_t rows, size_t columns, T* to,
                 ptrdiff_t stride) {
  TransposeScalar(from, pitch, rows, columns, to, stride);
}

template <typename T>
void InterleaveOf(const T* a, const T* b, const T* c, size_t pixels, T* to) {
  for (size_t x = 0; x < pixels; ++x) {
    to[3 * x] = a[x];
    to[3 * x + 1] = b[x];
    to[3 * x + 2] = c[x];
  }
}
#else

// Each 16 bytes of a vector go to a column of their own, `step` elements apart.
template <class D, typename T, HWY_IF_LE128(T, hn::MaxLanes(D()))>
HWY_INLINE void StoreColumns(D d, hn::Vec<D> v, T* to, ptrdiff_t) {
  hn::StoreU(v, d, to);
}
template <class D, typename T, HWY_IF_GT128(T, hn::MaxLanes(D()))>
HWY_INLINE void StoreColumns(D d, hn::Vec<D> v, T* to, ptrdiff_t step) {
  const hn::Half<D> half;
  StoreColumns(half, hn::LowerHalf(half, v), to, step);
  StoreColumns(half, hn::UpperHalf(half, v),
               to + static_cast<ptrdiff_t>(hn::Lanes(half) * sizeof(T) / 16) * step, step);
}

#if HWY_HAVE_SCALABLE
template <typename T>
using Tag = hn::CappedTag<T, 16 / sizeof(T)>;
#else
template <typename T>
using Tag = hn::ScalableTag<T>;
#endif

// 16 / sizeof(T) rows, a vector of columns. Interleaving the first half of the rows with the second
// as often as their number is a power of two transposes each 16 bytes.
template <typename T>
HWY_INLINE void TransposeBlock(const T* HWY_RESTRICT from, size_t pitch, T* HWY_RESTRICT to,
                               ptrdiff_t stride) {
  const Tag<T> d;
  constexpr size_t kRows = 16 / sizeof(T);
  hn::Vec<Tag<T>> v[kRows], w[kRows];
  for (size_t r = 0; r < kRows; ++r) v[r] = hn::LoadU(d, from + r * pitch);
  for (size_t step = 1; step < kRows; step *= 2) {
    for (size_t r = 0; r < kRows / 2; ++r) {
      w[2 * r] = hn::InterleaveLower(d, v[r], v[r + kRows / 2]);
      w[2 * r + 1] = hn::InterleaveUpper(d, v[r], v[r + kRows / 2]);
    }
    for (size_t r = 0; r < kRows; ++r) v[r] = w[r];
  }
  for (size_t c = 0; c < kRows; ++c) {
    StoreColumns(d, v[c], to + static_cast<ptrdiff_t>(c) * stride,
                 static_cast<ptrdiff_t>(kRows) * stride);
  }
}

// What is left at the ends is done again with its neighbours.
template <typename T>
void TransposeOf(const T* from, size_t pitch, size_t rows, size_t columns, T* to,
                 ptrdiff_t stride) {
  const size_t lanes = hn::Lanes(Tag<T>());
  constexpr size_t kRows = 16 / sizeof(T);
  if (rows < kRows || columns < lanes) {
    return TransposeScalar(from, pitch, rows, columns, to, stride);
  }
  for (size_t x = 0; x < columns; x += lanes) {
    const size_t x0 = HWY_MIN(x, columns - lanes);
    for (size_t r = 0; r < rows; r += kRows) {
      const size_t r0 = HWY_MIN(r, rows - kRows);
      TransposeBlock(from + r0 * pitch + x0, pitch,
                     to + static_cast<ptrdiff_t>(x0) * stride + static_cast<ptrdiff_t>(r0), stride);
    }
  }
}

template <typename T>
void InterleaveOf(const T* a, const T* b, const T* c, size_t pixels, T* to) {
  const hn::ScalableTag<T> d;
  size_t x = 0;
  for (; x + hn::Lanes(d) <= pixels; x += hn::Lanes(d)) {
    hn::StoreInterleaved3(hn::LoadU(d, a + x), hn::LoadU(d, b + x), hn::LoadU(d, c + x), d,
                          to + 3 * x);
  }
  for (; x < pixels; ++x) {
    to[3 * x] = a[x];
    to[3 * x + 1] = b[x];
    to[3 * x + 2] = c[x];
  }
}
#endif

template <typename T>
void TransposeBytes(const void* from, size_t pitch, size_t rows, size_t columns, void* to,
                    ptrdiff_t stride) {
  TransposeOf(static_cast<const T*>(from), pitch, rows, columns, static_cast<T*>(to), stride);
}

void Transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               ptrdiff_t stride) {
  if (size == 1) TransposeBytes<uint8_t>(from, pitch, rows, columns, to, stride);
  if (size == 2) TransposeBytes<uint16_t>(from, pitch, rows, columns, to, stride);
  if (size == 4) TransposeBytes<uint32_t>(from, pitch, rows, columns, to, stride);
}

template <typename T>
void InterleaveBytes(const void* const from[3], size_t pixels, void* to) {
  InterleaveOf(static_cast<const T*>(from[0]), static_cast<const T*>(from[1]),
               static_cast<const T*>(from[2]), pixels, static_cast<T*>(to));
}

void Interleave(const void* const from[3], size_t pixels, size_t size, void* to) {
  if (size == 1) InterleaveBytes<uint8_t>(from, pixels, to);
  if (size == 2) InterleaveBytes<uint16_t>(from, pixels, to);
  if (size == 4) InterleaveBytes<uint32_t>(from, pixels, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(Transpose);
HWY_EXPORT(Interleave);

void transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(Transpose)(from, pitch, rows, columns, size, to, stride);
}

void interleave(const void* const from[3], size_t pixels, size_t size, void* to) {
  HWY_DYNAMIC_DISPATCH(Interleave)(from, pixels, size, to);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
