// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/half_pooling.h"

#include <algorithm>
#include <cstdint>

#include "softdv/engine/aligned_floats.h"

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

// Computes the maximum of several rows of `count` values, `pitch` apart.
HWY_INLINE void MaxDown(const int16_t* HWY_RESTRICT from, int rows, size_t pitch, size_t count,
                        int16_t* HWY_RESTRICT to) {
  kernels::HWY_NAMESPACE::ForEachVector<int16_t>(count, [=](auto d, size_t k) HWY_ATTR {
    auto best = hn::Set(d, kLeast);
    for (int r = 0; r < rows; ++r) {
      best = hn::Max(best, LoadNumbers(d, from + static_cast<size_t>(r) * pitch + k));
    }
    hn::StoreU(best, d, to + k);
  });
}

void MaxPoolHalves(const int16_t* HWY_RESTRICT from, const RowShape& in, const PoolWindow& w,
                   int16_t* HWY_RESTRICT to, const RowShape& out, Band band,
                   int16_t* HWY_RESTRICT row) {
  const hn::CappedTag<int16_t, 8> d;
  for (int r = band.first; r < band.last; ++r) {
    const int r0 = r * w.stride_rows - w.pad_rows;
    const int first = std::clamp(r0, 0, in.rows), last = std::min(r0 + w.size_rows, in.rows);
    MaxDown(from + static_cast<size_t>(first) * in.row(), last - first, in.row(), in.row(), row);
    for (int c = 0; c < out.cols; ++c, to += 8) {
      const int c0 = c * w.stride_cols - w.pad_cols;
      const int end = std::min(c0 + w.size_cols, in.cols);
      auto best = hn::Set(d, kLeast);
      for (int i = std::max(c0, 0); i < end; ++i) {
        best = hn::Max(best, hn::LoadU(d, row + in.before_pixel(i)));
      }
      hn::StoreU(Turn(d, best), d, to);
    }
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
  auto* const row = reinterpret_cast<int16_t*>(buffer.room(in.row() / 2));
  HWY_DYNAMIC_DISPATCH(MaxPoolHalves)
  (reinterpret_cast<const int16_t*>(from), in, window, reinterpret_cast<int16_t*>(to), out, band,
   row);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
