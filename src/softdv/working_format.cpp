// SPDX-License-Identifier: Apache-2.0
#include "softdv/working_format.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/working_format.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// See tensor/convert_half.cpp: where conversions are instructions.
#if HWY_TARGET <= HWY_AVX2
#define DVNN_VECTOR_HALF 1
#else
#define DVNN_VECTOR_HALF 0
#endif

// `count` pixels of 8 neighbouring channels, `stride` floats from pixel to pixel.
void LoadChunk(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count,
               size_t stride) {
#if DVNN_VECTOR_HALF
  const hn::FixedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    const auto* source = reinterpret_cast<const hwy::float16_t*>(from + 8 * i);
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, source)), df, to + i * stride);
  }
#else
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) to[i * stride + k] = half_to_float(from[8 * i + k]);
  }
#endif
}

void StoreChunk(const float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count,
                size_t stride) {
#if DVNN_VECTOR_HALF
  const hn::FixedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i * stride)), dh,
               reinterpret_cast<hwy::float16_t*>(to + 8 * i));
  }
#else
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) to[8 * i + k] = float_to_half(from[i * stride + k]);
  }
#endif
}

#undef DVNN_VECTOR_HALF
}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(LoadChunk);
HWY_EXPORT(StoreChunk);

// Index of channel `c` of pixel 0 in a working tensor, and the distance between pixels.
size_t channel_base(const WorkingShape& shape, size_t pixels, int c) {
  const size_t lanes = static_cast<size_t>(shape.lanes), channel = static_cast<size_t>(c);
  return channel / lanes * lanes * pixels + channel % lanes;
}

// Calls visit(chunk's first channel, its number of channels, offset of its first element).
template <typename Visit>
void for_each_chunk(const WorkingShape& shape, Visit visit) {
  for (int c = 0; c < shape.channels; c += 8) {
    visit(c, std::min(8, shape.channels - c), static_cast<size_t>(c) * shape.pixels());
  }
}

}  // namespace

void load_working(const half_t* from, const WorkingShape& in, float* to, int spread_rows,
                  int spread_cols) {
  WorkingShape wide = in;
  wide.rows = (in.rows - 1) * spread_rows + 1;
  wide.cols = (in.cols - 1) * spread_cols + 1;
  const bool plain = spread_rows == 1 && spread_cols == 1;
  const size_t lanes = static_cast<size_t>(in.lanes), pixels = wide.pixels();
  // Lanes beyond the last channel, and the gaps of a deconvolution, count as zero.
  if (!plain || in.channels % in.lanes != 0) std::memset(to, 0, wide.size() * sizeof(float));
  for_each_chunk(in, [&](int c, int count, size_t offset) {
    const half_t* chunk = from + offset;
    float* base = to + channel_base(wide, pixels, c);
    if (plain && count == 8 && lanes % 8 == 0) {
      HWY_DYNAMIC_DISPATCH(LoadChunk)(chunk, base, pixels, lanes);
      return;
    }
    for (int r = 0; r < in.rows; ++r) {
      for (int col = 0; col < in.cols; ++col) {
        const size_t pixel = static_cast<size_t>(r * spread_rows) * static_cast<size_t>(wide.cols) +
                             static_cast<size_t>(col * spread_cols);
        for (int k = 0; k < count; ++k) {
          to[channel_base(wide, pixels, c + k) + pixel * lanes] = half_to_float(*chunk++);
        }
      }
    }
  });
}

void store_working(const float* from, const WorkingShape& shape, half_t* to) {
  const size_t lanes = static_cast<size_t>(shape.lanes), pixels = shape.pixels();
  for_each_chunk(shape, [&](int c, int count, size_t offset) {
    half_t* chunk = to + offset;
    if (count == 8 && lanes % 8 == 0) {
      HWY_DYNAMIC_DISPATCH(StoreChunk)
      (from + channel_base(shape, pixels, c), chunk, pixels, lanes);
      return;
    }
    for (size_t i = 0; i < pixels; ++i) {
      for (int k = 0; k < count; ++k) {
        *chunk++ = float_to_half(from[channel_base(shape, pixels, c + k) + i * lanes]);
      }
    }
  });
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
