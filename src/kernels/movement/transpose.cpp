// SPDX-License-Identifier: Apache-2.0
// Transposes blocks of 8 by 8 halves or 4 by 4 words. Each stage interleaves the first half of the
// block's vectors with the second; log2 of the number of vectors is the number of stages.
#include "kernels/movement/movement.h"

#include <algorithm>

#ifndef DVNN_KERNELS_TRANSPOSE_ONCE
#define DVNN_KERNELS_TRANSPOSE_ONCE
namespace dvnn::kernels {

// Source and target of a transposition, at the position of a block.
template <typename T>
struct Turn {
  const T* from;
  ptrdiff_t from_stride;
  T* to;
  ptrdiff_t to_stride;

  Turn at(size_t row, size_t column) const {
    const auto r = static_cast<ptrdiff_t>(row), c = static_cast<ptrdiff_t>(column);
    return {from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride};
  }
  const T* source(size_t c) const { return from + static_cast<ptrdiff_t>(c) * from_stride; }
  T* row(size_t r) const { return to + static_cast<ptrdiff_t>(r) * to_stride; }
};

template <typename T>
void turn_plainly(const Turn<T>& m, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) m.row(r)[c] = m.source(c)[r];
  }
}

}  // namespace dvnn::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/movement/transpose.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void TurnAll(const Turn<T>& m, size_t rows, size_t columns) {
  turn_plainly(m, rows, columns);
}

#else

// Rows and columns of a block are 8, or 4; then the other vectors, or vector halves, are unused.
template <size_t kRows>
HWY_INLINE hn::Vec<hn::FixedTag<uint16_t, 8> > Source(const Turn<uint16_t>& m, size_t c) {
  const hn::FixedTag<uint16_t, 8> d;
  const hn::FixedTag<uint16_t, 4> half;
  if constexpr (kRows == 8) return hn::LoadU(d, m.source(c));
  return hn::ZeroExtendVector(d, hn::LoadU(half, m.source(c)));
}

template <size_t kColumns, class V>
HWY_INLINE void StoreRow(V v, uint16_t* to) {
  const hn::FixedTag<uint16_t, 8> d;
  const hn::FixedTag<uint16_t, 4> half;
  if constexpr (kColumns == 8) {
    hn::StoreU(v, d, to);
  } else {
    hn::StoreU(hn::LowerHalf(half, v), half, to);
  }
}

template <size_t kRows, size_t kColumns>
HWY_INLINE void TurnBlock(const Turn<uint16_t>& m) {
  const hn::FixedTag<uint16_t, 8> d;
  const auto a0 = Source<kRows>(m, 0), a1 = Source<kRows>(m, 1);
  const auto a2 = Source<kRows>(m, 2), a3 = Source<kRows>(m, 3);
  auto a4 = hn::Zero(d), a5 = a4, a6 = a4, a7 = a4;
  if constexpr (kColumns == 8) {
    a4 = Source<kRows>(m, 4), a5 = Source<kRows>(m, 5);
    a6 = Source<kRows>(m, 6), a7 = Source<kRows>(m, 7);
  }
  const auto b0 = hn::InterleaveLower(d, a0, a4), b1 = hn::InterleaveUpper(d, a0, a4);
  const auto b2 = hn::InterleaveLower(d, a1, a5), b3 = hn::InterleaveUpper(d, a1, a5);
  const auto b4 = hn::InterleaveLower(d, a2, a6), b5 = hn::InterleaveUpper(d, a2, a6);
  const auto b6 = hn::InterleaveLower(d, a3, a7), b7 = hn::InterleaveUpper(d, a3, a7);
  const auto c0 = hn::InterleaveLower(d, b0, b4), c1 = hn::InterleaveUpper(d, b0, b4);
  const auto c2 = hn::InterleaveLower(d, b1, b5), c3 = hn::InterleaveUpper(d, b1, b5);
  const auto c4 = hn::InterleaveLower(d, b2, b6), c5 = hn::InterleaveUpper(d, b2, b6);
  const auto c6 = hn::InterleaveLower(d, b3, b7), c7 = hn::InterleaveUpper(d, b3, b7);
  StoreRow<kColumns>(hn::InterleaveLower(d, c0, c4), m.row(0));
  StoreRow<kColumns>(hn::InterleaveUpper(d, c0, c4), m.row(1));
  StoreRow<kColumns>(hn::InterleaveLower(d, c1, c5), m.row(2));
  StoreRow<kColumns>(hn::InterleaveUpper(d, c1, c5), m.row(3));
  if constexpr (kRows == 8) {
    StoreRow<kColumns>(hn::InterleaveLower(d, c2, c6), m.row(4));
    StoreRow<kColumns>(hn::InterleaveUpper(d, c2, c6), m.row(5));
    StoreRow<kColumns>(hn::InterleaveLower(d, c3, c7), m.row(6));
    StoreRow<kColumns>(hn::InterleaveUpper(d, c3, c7), m.row(7));
  }
}

template <size_t kRows, size_t kColumns>
HWY_INLINE void TurnBlock(const Turn<uint32_t>& m) {
  static_assert(kRows == 4 && kColumns == 4);
  const hn::FixedTag<uint32_t, 4> d;
  const auto a0 = hn::LoadU(d, m.source(0)), a1 = hn::LoadU(d, m.source(1));
  const auto a2 = hn::LoadU(d, m.source(2)), a3 = hn::LoadU(d, m.source(3));
  const auto b0 = hn::InterleaveLower(d, a0, a2), b1 = hn::InterleaveUpper(d, a0, a2);
  const auto b2 = hn::InterleaveLower(d, a1, a3), b3 = hn::InterleaveUpper(d, a1, a3);
  hn::StoreU(hn::InterleaveLower(d, b0, b2), d, m.row(0));
  hn::StoreU(hn::InterleaveUpper(d, b0, b2), d, m.row(1));
  hn::StoreU(hn::InterleaveLower(d, b1, b3), d, m.row(2));
  hn::StoreU(hn::InterleaveUpper(d, b1, b3), d, m.row(3));
}

// Covers the matrix, which is at least a block in size, with blocks. The last ones begin earlier to
// fit, so elements that two blocks share are written twice.
template <size_t kRows, size_t kColumns, typename T>
HWY_INLINE void TurnBlocks(const Turn<T>& m, size_t rows, size_t columns) {
  for (size_t c = 0; c < columns; c += kColumns) {
    for (size_t r = 0; r < rows; r += kRows) {
      TurnBlock<kRows, kColumns>(m.at(std::min(r, rows - kRows), std::min(c, columns - kColumns)));
    }
  }
}

void TurnAll(const Turn<uint16_t>& m, size_t rows, size_t columns) {
  if (rows < 4 || columns < 4) return turn_plainly(m, rows, columns);
  if (rows >= 8 && columns >= 8) return TurnBlocks<8, 8>(m, rows, columns);
  if (rows >= 8) return TurnBlocks<8, 4>(m, rows, columns);
  if (columns >= 8) return TurnBlocks<4, 8>(m, rows, columns);
  TurnBlocks<4, 4>(m, rows, columns);
}

void TurnAll(const Turn<uint32_t>& m, size_t rows, size_t columns) {
  if (rows < 4 || columns < 4) return turn_plainly(m, rows, columns);
  TurnBlocks<4, 4>(m, rows, columns);
}

#endif

void TurnHalves(const Turn<uint16_t>& m, size_t rows, size_t columns) {
  TurnAll(m, rows, columns);
}

void TurnWords(const Turn<uint32_t>& m, size_t rows, size_t columns) {
  TurnAll(m, rows, columns);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(TurnHalves);
HWY_EXPORT(TurnWords);

void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns) {
  HWY_DYNAMIC_DISPATCH(TurnHalves)({from, from_stride, to, to_stride}, rows, columns);
}

void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns) {
  HWY_DYNAMIC_DISPATCH(TurnWords)({from, from_stride, to, to_stride}, rows, columns);
}

namespace plain {

void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns) {
  turn_plainly<uint16_t>({from, from_stride, to, to_stride}, rows, columns);
}

void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns) {
  turn_plainly<uint32_t>({from, from_stride, to, to_stride}, rows, columns);
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
