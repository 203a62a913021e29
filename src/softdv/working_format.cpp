// SPDX-License-Identifier: Apache-2.0
#include "softdv/working_format.h"

#include <algorithm>
#include <cstring>

#include "softdv/parallel.h"

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

// With `keep`, the rounded values go back to where they came from.
void StoreChunk(float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count, size_t stride,
                bool keep) {
#if DVNN_VECTOR_HALF
  const hn::FixedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    const auto rounded = hn::DemoteTo(dh, hn::LoadU(df, from + i * stride));
    hn::StoreU(rounded, dh, reinterpret_cast<hwy::float16_t*>(to + 8 * i));
    if (keep) hn::StoreU(hn::PromoteTo(df, rounded), df, from + i * stride);
  }
#else
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      const half_t rounded = float_to_half(from[i * stride + k]);
      to[8 * i + k] = rounded;
      if (keep) from[i * stride + k] = half_to_float(rounded);
    }
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

// Calls visit(first channel, number of channels, offset of the chunk's first element, first and
// last row) for parts of chunks, on all threads.
template <typename Visit>
void for_each_part(const WorkingShape& shape, Visit visit) {
  const int chunks = (shape.channels + 7) / 8;
  // Few chunks are cut into bands of rows, so that every thread has some.
  const int bands = chunks >= 4 ? 1 : std::min(4, shape.rows);
  parallel_for(chunks * bands, shape.size(), [&](int i) {
    const int c = i / bands * 8, band = i % bands;
    visit(c, std::min(8, shape.channels - c), static_cast<size_t>(c) * shape.pixels(),
          band * shape.rows / bands, (band + 1) * shape.rows / bands);
  });
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
  for_each_part(in, [&](int c, int count, size_t offset, int first, int last) {
    const size_t skipped = static_cast<size_t>(first) * static_cast<size_t>(in.cols);
    const half_t* chunk = from + offset + skipped * static_cast<size_t>(count);
    const size_t part = static_cast<size_t>(last - first) * static_cast<size_t>(in.cols);
    if (plain && count == 8 && lanes % 8 == 0) {
      HWY_DYNAMIC_DISPATCH(LoadChunk)
      (chunk, to + channel_base(wide, pixels, c) + skipped * lanes, part, lanes);
      return;
    }
    if (plain && in.channels == in.lanes && in.channels <= 8) {  // the same order
      half_to_float(chunk, to + skipped * lanes, part * lanes);
      return;
    }
    for (int r = first; r < last; ++r) {
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

void store_working(float* from, const WorkingShape& shape, bool keep, half_t* to) {
  const size_t lanes = static_cast<size_t>(shape.lanes), pixels = shape.pixels();
  for_each_part(shape, [&](int c, int count, size_t offset, int first, int last) {
    const size_t skipped = static_cast<size_t>(first) * static_cast<size_t>(shape.cols);
    const size_t end = static_cast<size_t>(last) * static_cast<size_t>(shape.cols);
    half_t* chunk = to + offset + skipped * static_cast<size_t>(count);
    if (count == 8 && lanes % 8 == 0) {
      HWY_DYNAMIC_DISPATCH(StoreChunk)
      (from + channel_base(shape, pixels, c) + skipped * lanes, chunk, end - skipped, lanes, keep);
      return;
    }
    if (!keep && shape.channels == shape.lanes && shape.channels <= 8) {  // the same order
      float_to_half(from + skipped * lanes, chunk, (end - skipped) * lanes);
      return;
    }
    for (size_t i = skipped; i < end; ++i) {
      for (int k = 0; k < count; ++k) {
        float* value = from + channel_base(shape, pixels, c + k) + i * lanes;
        *chunk = float_to_half(*value);
        if (keep) *value = half_to_float(*chunk);
        ++chunk;
      }
    }
  });
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
