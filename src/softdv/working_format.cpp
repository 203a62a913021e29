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
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
#define DVNN_VECTOR_HALF 1
#else
#define DVNN_VECTOR_HALF 0
#endif

// Each converts between `count` pixels of a whole chunk, side by side, and the same pixels of the
// working tensor, `stride` floats apart.

void LoadChunk(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count,
               size_t stride) {
#if DVNN_VECTOR_HALF
  const hn::CappedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; k += hn::Lanes(df)) {
      const auto* source = reinterpret_cast<const hwy::float16_t*>(from + 8 * i + k);
      hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, source)), df, to + i * stride + k);
    }
  }
#else
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) to[i * stride + k] = half_to_float(from[8 * i + k]);
  }
#endif
}

void AddChunk(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count,
              size_t stride) {
#if DVNN_VECTOR_HALF
  const hn::CappedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; k += hn::Lanes(df)) {
      const auto* source = reinterpret_cast<const hwy::float16_t*>(from + 8 * i + k);
      float* sum = to + i * stride + k;
      hn::StoreU(hn::Add(hn::LoadU(df, sum), hn::PromoteTo(df, hn::LoadU(dh, source))), df, sum);
    }
  }
#else
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) to[i * stride + k] += half_to_float(from[8 * i + k]);
  }
#endif
}

// With `keep`, the rounded values go back to where they came from.
void StoreChunk(float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count, size_t stride,
                bool keep) {
#if DVNN_VECTOR_HALF
  const hn::CappedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; k += hn::Lanes(df)) {
      float* value = from + i * stride + k;
      const auto rounded = hn::DemoteTo(dh, hn::LoadU(df, value));
      hn::StoreU(rounded, dh, reinterpret_cast<hwy::float16_t*>(to + 8 * i + k));
      if (keep) hn::StoreU(hn::PromoteTo(df, rounded), df, value);
    }
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
HWY_EXPORT(AddChunk);
HWY_EXPORT(StoreChunk);

// Up to 8 channels of some neighbouring pixels: a tile of the tensor in both orders.
struct Tile {
  size_t pixels;
  size_t channels;  // 8, or fewer in the last chunk
  size_t chunked;   // offset of its first element in device chunks
  size_t working;   // and in the working tensor
};

// Goes over a band in tiles that lie side by side in the working tensor and are few enough for the
// first-level cache: a tile's neighbour has the other channels of the same cache lines.
template <typename Visit>
void for_each_tile(const WorkingShape& shape, Band band, Visit visit) {
  constexpr size_t kTilePixels = 16, kChunk = 8;
  const size_t channels = static_cast<size_t>(shape.channels),
               cols = static_cast<size_t>(shape.cols);
  const size_t end = static_cast<size_t>(band.last) * cols;
  for (size_t pixel = static_cast<size_t>(band.first) * cols; pixel < end; pixel += kTilePixels) {
    const size_t pixels = std::min(kTilePixels, end - pixel);
    for (size_t c = 0; c < channels; c += kChunk) {
      const size_t count = std::min(kChunk, channels - c);
      visit(Tile{pixels, count, c * shape.pixels() + pixel * count, pixel * channels + c});
    }
  }
}

// A tensor of one chunk lies in the same order on both sides.
bool has_one_chunk(const WorkingShape& shape) {
  return shape.channels <= 8;
}

}  // namespace

void load_rows(const half_t* from, const WorkingShape& shape, Band band, float* to) {
  const size_t stride = static_cast<size_t>(shape.channels);
  if (has_one_chunk(shape)) {
    const size_t start = static_cast<size_t>(band.first) * shape.row();
    half_to_float(from + start, to + start, static_cast<size_t>(band.last) * shape.row() - start);
    return;
  }
  for_each_tile(shape, band, [&](const Tile& tile) {
    const half_t* chunk = from + tile.chunked;
    float* value = to + tile.working;
    if (tile.channels == 8) {
      HWY_DYNAMIC_DISPATCH(LoadChunk)(chunk, value, tile.pixels, stride);
      return;
    }
    for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
      for (size_t k = 0; k < tile.channels; ++k) value[k] = half_to_float(*chunk++);
    }
  });
}

void spread_rows(const half_t* from, const WorkingShape& shape, Band band, int step_rows,
                 int step_cols, float* to) {
  const WorkingShape wide = {(shape.rows - 1) * step_rows + 1, (shape.cols - 1) * step_cols + 1,
                             shape.channels};
  const size_t channels = static_cast<size_t>(shape.channels),
               cols = static_cast<size_t>(shape.cols);
  const int end = std::min(band.last * step_rows, wide.rows);
  float* start = to + static_cast<size_t>(band.first * step_rows) * wide.row();
  std::memset(start, 0,
              static_cast<size_t>(end - band.first * step_rows) * wide.row() * sizeof *to);
  for_each_tile(shape, band, [&](const Tile& tile) {
    const half_t* chunk = from + tile.chunked;
    const size_t first = tile.working / channels, channel = tile.working % channels;
    for (size_t pixel = first; pixel < first + tile.pixels; ++pixel) {
      float* value = to + pixel / cols * static_cast<size_t>(step_rows) * wide.row() +
                     pixel % cols * static_cast<size_t>(step_cols) * channels + channel;
      for (size_t k = 0; k < tile.channels; ++k) value[k] = half_to_float(*chunk++);
    }
  });
}

void store_rows(float* from, const WorkingShape& shape, Band band, bool keep, half_t* to) {
  const size_t stride = static_cast<size_t>(shape.channels);
  if (has_one_chunk(shape)) {
    const size_t start = static_cast<size_t>(band.first) * shape.row();
    const size_t count = static_cast<size_t>(band.last) * shape.row() - start;
    float_to_half(from + start, to + start, count);
    if (keep) half_to_float(to + start, from + start, count);
    return;
  }
  for_each_tile(shape, band, [&](const Tile& tile) {
    half_t* chunk = to + tile.chunked;
    float* value = from + tile.working;
    if (tile.channels == 8) {
      HWY_DYNAMIC_DISPATCH(StoreChunk)(value, chunk, tile.pixels, stride, keep);
      return;
    }
    for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
      for (size_t k = 0; k < tile.channels; ++k) {
        *chunk = float_to_half(value[k]);
        if (keep) value[k] = half_to_float(*chunk);
        ++chunk;
      }
    }
  });
}

void add_rows(const half_t* addend, const WorkingShape& shape, Band band, float* data) {
  const size_t stride = static_cast<size_t>(shape.channels);
  for_each_tile(shape, band, [&](const Tile& tile) {
    const half_t* chunk = addend + tile.chunked;
    float* sum = data + tile.working;
    if (tile.channels == 8) {
      HWY_DYNAMIC_DISPATCH(AddChunk)(chunk, sum, tile.pixels, stride);
      return;
    }
    for (size_t i = 0; i < tile.pixels; ++i, sum += stride) {
      for (size_t k = 0; k < tile.channels; ++k) sum[k] += half_to_float(*chunk++);
    }
  });
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
