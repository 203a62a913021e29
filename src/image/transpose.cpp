// SPDX-License-Identifier: Apache-2.0
#include "image/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/transpose.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "image/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void TransposeScalar(const T* from, size_t pitch, size_t rows, size_t columns, T* to,
                     size_t stride) {
  for (size_t x = 0; x < columns; ++x) {
    T* column = to + x * stride;
    for (size_t r = 0; r < rows; ++r) column[r] = from[r * pitch + x];
  }
}

#if HWY_TARGET == HWY_SCALAR
template <typename T>
void TransposeOf(const T* from, size_t pitch, size_t rows, size_t columns, T* to, size_t stride) {
  TransposeScalar(from, pitch, rows, columns, to, stride);
}
#else

// Stores each 16 bytes of a vector to its own column, `step` elements apart.
template <class D, typename T, std::enable_if_t<IsOneBlock<D>()>* = nullptr>
HWY_INLINE void StoreColumns(D d, hn::Vec<D> v, T* to, size_t) {
  hn::StoreU(v, d, to);
}
template <class D, typename T, std::enable_if_t<!IsOneBlock<D>()>* = nullptr>
HWY_INLINE void StoreColumns(D, hn::Vec<D> v, T* to, size_t step) {
  const hn::Half<D> half;
  StoreColumns(half, hn::LowerHalf(half, v), to, step);
  StoreColumns(half, hn::UpperHalf(half, v), to + hn::Lanes(half) * sizeof(T) / 16 * step, step);
}

template <typename T>
using Tag = hn::ScalableTag<T>;

// Transposes 16 / sizeof(T) rows of a vector of columns. Each 16 bytes of v[c] become the rows of
// one column, and the next 16 bytes those of the column that many further on. log2(rows)
// interleavings of the two halves transpose the block.
template <typename T>
HWY_INLINE void TransposeColumns(const T* HWY_RESTRICT from, size_t pitch,
                                 hn::Vec<Tag<T> > (&v)[16 / sizeof(T)]) {
  const Tag<T> d;
  constexpr size_t kRows = 16 / sizeof(T);
  hn::Vec<Tag<T> > w[kRows];
  for (size_t r = 0; r < kRows; ++r) v[r] = hn::LoadU(d, from + r * pitch);
  for (size_t step = 1; step < kRows; step *= 2) {
    for (size_t r = 0; r < kRows / 2; ++r) {
      w[2 * r] = hn::InterleaveLower(d, v[r], v[r + kRows / 2]);
      w[2 * r + 1] = hn::InterleaveUpper(d, v[r], v[r + kRows / 2]);
    }
    for (size_t r = 0; r < kRows; ++r) v[r] = w[r];
  }
}

// Number of rows of a block.
template <typename T>
constexpr size_t kBlockRows = HWY_TARGET <= HWY_AVX3 && sizeof(T) == 4 ? 16 : 16 / sizeof(T);

template <typename T>
HWY_INLINE void TransposeBlock(const T* HWY_RESTRICT from, size_t pitch, T* HWY_RESTRICT to,
                               size_t stride) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    // Highway has no functions that move 16 bytes between vectors of 64.
    hn::Vec<Tag<T> > v[4][4];
    for (size_t group = 0; group < 4; ++group) {
      TransposeColumns(from + 4 * group * pitch, pitch, v[group]);
    }
    for (size_t c = 0; c < 4; ++c, to += stride) {
      const __m512i even01 = _mm512_shuffle_i32x4(v[0][c].raw, v[1][c].raw, 0x88);
      const __m512i even23 = _mm512_shuffle_i32x4(v[2][c].raw, v[3][c].raw, 0x88);
      const __m512i odd01 = _mm512_shuffle_i32x4(v[0][c].raw, v[1][c].raw, 0xdd);
      const __m512i odd23 = _mm512_shuffle_i32x4(v[2][c].raw, v[3][c].raw, 0xdd);
      _mm512_storeu_si512(to, _mm512_shuffle_i32x4(even01, even23, 0x88));
      _mm512_storeu_si512(to + 4 * stride, _mm512_shuffle_i32x4(odd01, odd23, 0x88));
      _mm512_storeu_si512(to + 8 * stride, _mm512_shuffle_i32x4(even01, even23, 0xdd));
      _mm512_storeu_si512(to + 12 * stride, _mm512_shuffle_i32x4(odd01, odd23, 0xdd));
    }
    return;
  }
#endif
  constexpr size_t kRows = 16 / sizeof(T);
  hn::Vec<Tag<T> > v[kRows];
  TransposeColumns(from, pitch, v);
  for (size_t c = 0; c < kRows; ++c) {
    StoreColumns(Tag<T>(), v[c], to + c * stride, kRows * stride);
  }
}

// The remainder at each end is transposed together with neighbours that were done already.
template <typename T>
void TransposeOf(const T* from, size_t pitch, size_t rows, size_t columns, T* to, size_t stride) {
  const size_t lanes = hn::Lanes(Tag<T>());
  constexpr size_t kRows = kBlockRows<T>;
  if (rows < kRows || columns < lanes) {
    return TransposeScalar(from, pitch, rows, columns, to, stride);
  }
  for (size_t x = 0; x < columns; x += lanes) {
    const size_t x0 = HWY_MIN(x, columns - lanes);
    for (size_t r = 0; r < rows; r += kRows) {
      const size_t r0 = HWY_MIN(r, rows - kRows);
      TransposeBlock(from + r0 * pitch + x0, pitch, to + x0 * stride + r0, stride);
    }
  }
}
#endif

template <typename T>
void TransposeBytes(const void* from, size_t pitch, size_t rows, size_t columns, void* to,
                    size_t stride) {
  TransposeOf(static_cast<const T*>(from), pitch, rows, columns, static_cast<T*>(to), stride);
}

void Transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               size_t stride) {
  if (size == 1) TransposeBytes<uint8_t>(from, pitch, rows, columns, to, stride);
  if (size == 4) TransposeBytes<uint32_t>(from, pitch, rows, columns, to, stride);
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(Transpose);

void transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               size_t stride) {
  HWY_DYNAMIC_DISPATCH(Transpose)(from, pitch, rows, columns, size, to, stride);
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
