// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/pointwise.h"

#include <algorithm>
#include <cstdint>

#include "base/aligned.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/finish/half_pooling.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whole numbers in the order of the values: all bits but the sign of negative values are inverted.
// NaNs lie beyond the infinities.
constexpr int16_t kInfinity = 0x7c00, kLeast = -0x7c01;

// Converts a value's bits to its number, and back.
template <class D, class V>
HWY_INLINE V Turn(D d, V bits) {
  return hn::Xor(bits, hn::And(hn::ShiftRight<15>(bits), hn::Set(d, int16_t{0x7fff})));
}

template <class D>
HWY_INLINE hn::Vec<D> LoadNumbers(D d, const int16_t* from) {
  const auto numbers = Turn(d, hn::LoadU(d, from));
  return hn::IfThenElse(hn::Gt(numbers, hn::Set(d, kInfinity)), hn::Set(d, kLeast), numbers);
}

// Computes the maximum of several rows of `count` values, `pitch` apart. load(d, from) is a vector
// of numbers.
template <class Load>
HWY_INLINE void MaxDown(const int16_t* HWY_RESTRICT from, int rows, size_t pitch, size_t count,
                        int16_t* HWY_RESTRICT to, Load load) {
  kernels::HWY_NAMESPACE::ForEachVector<int16_t>(count, [=](auto d, size_t k) HWY_ATTR {
    auto best = hn::Set(d, kLeast);
    for (int r = 0; r < rows; ++r) {
      best = hn::Max(best, load(d, from + static_cast<size_t>(r) * pitch + k));
    }
    hn::StoreU(best, d, to + k);
  });
}

// Computes the maxima of a row of numbers around the result's pixels `first` to `last`.
HWY_INLINE void MaxAcross(const int16_t* HWY_RESTRICT row, const RowShape& in, const PoolWindow& w,
                          int first, int last, int16_t* HWY_RESTRICT to) {
  const hn::CappedTag<int16_t, 8> d;
  for (int c = first; c < last; ++c, to += 8) {
    const int c0 = c * w.stride_cols - w.pad_cols;
    const int end = std::min(c0 + w.size_cols, in.cols);
    auto best = hn::Set(d, kLeast);
    for (int i = std::max(c0, 0); i < end; ++i) {
      best = hn::Max(best, hn::LoadU(d, row + in.before_pixel(i)));
    }
    hn::StoreU(Turn(d, best), d, to);
  }
}

// As MaxAcross() for `count` whole windows of kSize columns, the first of which begins at `row`.
template <int kSize>
HWY_INLINE void MaxOfWindows(const int16_t* HWY_RESTRICT row, int stride, int count,
                             int16_t* HWY_RESTRICT to) {
  const hn::CappedTag<int16_t, 8> d;
  const size_t step = 8 * static_cast<size_t>(stride);
  for (int c = 0; c < count; ++c, row += step, to += 8) {
    auto best = hn::LoadU(d, row);
    HWY_UNROLL(4)
    for (size_t i = 1; i < kSize; ++i) best = hn::Max(best, hn::LoadU(d, row + 8 * i));
    hn::StoreU(Turn(d, best), d, to);
  }
}

// As MaxAcross() for `count` values of whole windows that are a pixel apart: several at once.
HWY_INLINE void MaxOfNeighbours(const int16_t* HWY_RESTRICT row, int size, size_t count,
                                int16_t* HWY_RESTRICT to) {
  kernels::HWY_NAMESPACE::ForEachVector<int16_t>(count, [=](auto d, size_t k) HWY_ATTR {
    auto best = hn::LoadU(d, row + k);
    for (int i = 1; i < size; ++i) {
      best = hn::Max(best, hn::LoadU(d, row + k + 8 * static_cast<size_t>(i)));
    }
    hn::StoreU(Turn(d, best), d, to + k);
  });
}

// Computes a row of the result from the maxima of the rows that it covers.
HWY_INLINE void MaxOfRow(const int16_t* HWY_RESTRICT row, const RowShape& in, const PoolWindow& w,
                         const RowShape& out, int16_t* HWY_RESTRICT to) {
  // Pixels whose windows are whole.
  const int whole = std::min(quotient_up(w.pad_cols, w.stride_cols), out.cols);
  const int room = in.cols - w.size_cols + w.pad_cols;
  const int end = std::clamp(room < 0 ? 0 : room / w.stride_cols + 1, whole, out.cols);
  MaxAcross(row, in, w, 0, whole, to);
  const size_t before = out.before_pixel(whole);
  const auto* const from = row + in.before_pixel(std::max(whole * w.stride_cols - w.pad_cols, 0));
  if (w.stride_cols == 1) {
    MaxOfNeighbours(from, w.size_cols, out.before_pixel(end) - before, to + before);
  } else if (w.size_cols == 2) {
    MaxOfWindows<2>(from, w.stride_cols, end - whole, to + before);
  } else if (w.size_cols == 3) {
    MaxOfWindows<3>(from, w.stride_cols, end - whole, to + before);
  } else {
    return MaxAcross(row, in, w, whole, out.cols, to + before);
  }
  MaxAcross(row, in, w, end, out.cols, to + out.before_pixel(end));
}

void MaxPoolHalves(const int16_t* HWY_RESTRICT from, const RowShape& in, const PoolWindow& w,
                   int16_t* HWY_RESTRICT to, const RowShape& out, Band band,
                   int16_t* HWY_RESTRICT row, int16_t* HWY_RESTRICT numbers) {
  const auto as_numbers = [](auto d, const int16_t* at) HWY_ATTR { return LoadNumbers(d, at); };
  const auto as_is = [](auto d, const int16_t* at) HWY_ATTR { return hn::LoadU(d, at); };
  const Band reads = window_rows(in, w, band);
  // Rows that several windows cover are turned to numbers once.
  const bool shared = w.stride_rows < w.size_rows;
  if (shared) {
    MaxDown(from + reads.before() * in.row(), 1, 0, reads.count() * in.row(), numbers, as_numbers);
  }
  for (int r = band.first; r < band.last; ++r, to += out.row()) {
    const int r0 = r * w.stride_rows - w.pad_rows;
    const int first = std::clamp(r0, 0, in.rows), last = std::min(r0 + w.size_rows, in.rows);
    const size_t before = static_cast<size_t>(first) * in.row();
    if (shared) {
      const int16_t* const covered = numbers + Band{reads.first, first}.count() * in.row();
      MaxDown(covered, last - first, in.row(), in.row(), row, as_is);
    } else {
      MaxDown(from + before, last - first, in.row(), in.row(), row, as_numbers);
    }
    MaxOfRow(row, in, w, out, to);
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(MaxPoolHalves);

}  // namespace

void max_pool_halves(const half_t* from, const RowShape& in, const PoolWindow& window, half_t* to,
                     const RowShape& out, Band band) {
  static_assert(sizeof(half_t) == sizeof(int16_t));
  static thread_local AlignedFloats buffer;
  // Some rows at a time, whose numbers stay in the first-level cache.
  constexpr size_t kNumbers = 8 << 10;
  const size_t passed = static_cast<size_t>(window.stride_rows) * in.row();
  const int most = static_cast<int>(std::max<size_t>(4, kNumbers / passed));
  for (Band some = {band.first, 0}; some.first < band.last; some.first = some.last) {
    some.last = std::min(some.first + most, band.last);
    // A row of maxima, and the rows that several windows cover.
    const size_t rows = window_rows(in, window, some).count();
    auto* const row = reinterpret_cast<int16_t*>(buffer.room((1 + rows) * in.row() / 2));
    HWY_DYNAMIC_DISPATCH(MaxPoolHalves)
    (reinterpret_cast<const int16_t*>(from), in, window, reinterpret_cast<int16_t*>(to), out, some,
     row, row + in.row());
    to += some.count() * out.row();
  }
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
