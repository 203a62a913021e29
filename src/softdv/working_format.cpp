// SPDX-License-Identifier: Apache-2.0
#include "softdv/working_format.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/working_format.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef DVNN_SOFTDV_TILES
#define DVNN_SOFTDV_TILES
namespace dvnn::softdv {

// Up to 8 channels of some neighbouring pixels: a tile of the tensor in both orders.
struct Tile {
  size_t pixels;
  size_t channels;  // 8, or fewer in the last chunk
  size_t chunked;   // offset of its first element in device chunks
  size_t working;   // and from the first of the band in the working tensor
};

// The tiles of a band in an order in which a tile's successor has the other channels of the same
// cache lines of the working tensor; few enough pixels each for the first-level cache.
class Tiles {
 public:
  Tiles(const WorkingShape& shape, Band band)
      : channels_(static_cast<size_t>(shape.channels)),
        plane_(shape.pixels()),
        first_(static_cast<size_t>(band.first) * static_cast<size_t>(shape.cols)),
        pixel_(first_),
        end_(static_cast<size_t>(band.last) * static_cast<size_t>(shape.cols)) {}
  bool next(Tile* tile) {
    if (channel_ >= channels_) {
      channel_ = 0;
      pixel_ += kPixels;
    }
    if (pixel_ >= end_) return false;
    const size_t count = std::min(kChunk, channels_ - channel_);
    *tile = {std::min(kPixels, end_ - pixel_), count, channel_ * plane_ + pixel_ * count,
             (pixel_ - first_) * channels_ + channel_};
    channel_ += kChunk;
    return true;
  }

 private:
  static constexpr size_t kPixels = 32, kChunk = 8;
  size_t channels_, plane_, first_, pixel_, end_, channel_ = 0;
};

}  // namespace dvnn::softdv
#endif  // DVNN_SOFTDV_TILES

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

HWY_INLINE void LoadChunk(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count,
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

HWY_INLINE void AddChunk(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count,
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
HWY_INLINE void StoreChunk(float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count,
                           size_t stride, bool keep) {
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

void LoadRows(const half_t* from, const WorkingShape& shape, Band band, float* to) {
  const size_t stride = static_cast<size_t>(shape.channels);
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = from + tile.chunked;
    float* value = to + tile.working;
    if (tile.channels == 8) {
      LoadChunk(chunk, value, tile.pixels, stride);
      continue;
    }
    for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
      for (size_t k = 0; k < tile.channels; ++k) value[k] = half_to_float(*chunk++);
    }
  }
}

void AddRows(const half_t* addend, const WorkingShape& shape, Band band, float* data) {
  const size_t stride = static_cast<size_t>(shape.channels);
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = addend + tile.chunked;
    float* sum = data + tile.working;
    if (tile.channels == 8) {
      AddChunk(chunk, sum, tile.pixels, stride);
      continue;
    }
    for (size_t i = 0; i < tile.pixels; ++i, sum += stride) {
      for (size_t k = 0; k < tile.channels; ++k) sum[k] += half_to_float(*chunk++);
    }
  }
}

void StoreRows(float* from, const WorkingShape& shape, Band band, bool keep, half_t* to) {
  const size_t stride = static_cast<size_t>(shape.channels);
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    half_t* chunk = to + tile.chunked;
    float* value = from + tile.working;
    if (tile.channels == 8) {
      StoreChunk(value, chunk, tile.pixels, stride, keep);
      continue;
    }
    for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
      for (size_t k = 0; k < tile.channels; ++k) {
        *chunk = float_to_half(value[k]);
        if (keep) value[k] = half_to_float(*chunk);
        ++chunk;
      }
    }
  }
}

#undef DVNN_VECTOR_HALF
}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(LoadRows);
HWY_EXPORT(AddRows);
HWY_EXPORT(StoreRows);

// A tensor of one chunk lies in the same order on both sides.
bool has_one_chunk(const WorkingShape& shape) {
  return shape.channels <= 8;
}

}  // namespace

void load_rows(const half_t* from, const WorkingShape& shape, Band band, float* to) {
  if (has_one_chunk(shape)) {
    const size_t start = static_cast<size_t>(band.first) * shape.row();
    half_to_float(from + start, to, static_cast<size_t>(band.last) * shape.row() - start);
  } else {
    HWY_DYNAMIC_DISPATCH(LoadRows)(from, shape, band, to);
  }
}

void spread_rows(const half_t* from, const WorkingShape& shape, Band band, int step_rows,
                 int step_cols, float* to) {
  const WorkingShape wide = {(shape.rows - 1) * step_rows + 1, (shape.cols - 1) * step_cols + 1,
                             shape.channels};
  const size_t channels = static_cast<size_t>(shape.channels);
  const size_t cols = static_cast<size_t>(shape.cols);
  const int first = band.first * step_rows, last = std::min(band.last * step_rows, wide.rows);
  std::memset(to + static_cast<size_t>(first) * wide.row(), 0,
              static_cast<size_t>(last - first) * wide.row() * sizeof *to);
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = from + tile.chunked;
    const size_t start = tile.working / channels + static_cast<size_t>(band.first) * cols;
    const size_t channel = tile.working % channels;
    for (size_t pixel = start; pixel < start + tile.pixels; ++pixel) {
      float* value = to + pixel / cols * static_cast<size_t>(step_rows) * wide.row() +
                     pixel % cols * static_cast<size_t>(step_cols) * channels + channel;
      for (size_t k = 0; k < tile.channels; ++k) value[k] = half_to_float(*chunk++);
    }
  }
}

void store_rows(float* from, const WorkingShape& shape, Band band, bool keep, half_t* to) {
  if (!has_one_chunk(shape)) {
    HWY_DYNAMIC_DISPATCH(StoreRows)(from, shape, band, keep, to);
    return;
  }
  const size_t start = static_cast<size_t>(band.first) * shape.row();
  const size_t count = static_cast<size_t>(band.last) * shape.row() - start;
  float_to_half(from, to + start, count);
  if (keep) half_to_float(to + start, from, count);
}

void add_rows(const half_t* addend, const WorkingShape& shape, Band band, float* data) {
  HWY_DYNAMIC_DISPATCH(AddRows)(addend, shape, band, data);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
