// SPDX-License-Identifier: Apache-2.0
#include "softdv/runs/working_format.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/runs/working_format.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/halves-inl.h"

#ifndef DVNN_SOFTDV_TILES
#define DVNN_SOFTDV_TILES
namespace dvnn::softdv {

// A tile of the tensor in both orders: some channels of some neighbouring pixels.
struct Tile {
  size_t pixels;
  size_t channels;  // 16: two chunks; 8: one; or the fewer ones of the last chunk
  size_t chunked;   // offset of its first element in device chunks
  size_t working;   // and from the first of the band in the working tensor
};

// The tiles of a band in an order in which a tile's successor has the other channels of the same
// cache lines of the working tensor; few enough pixels each for the first-level cache.
class Tiles {
 public:
  static constexpr size_t kPixels = 32, kChunk = 8;
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
    const size_t left = channels_ - channel_;
    const size_t count = left >= 2 * kChunk ? 2 * kChunk : std::min(kChunk, left);
    *tile = {std::min(kPixels, end_ - pixel_), count,
             channel_ * plane_ + pixel_ * std::min(kChunk, count),
             (pixel_ - first_) * channels_ + channel_};
    channel_ += count;
    return true;
  }

 private:
  size_t channels_, plane_, first_, pixel_, end_, channel_ = 0;
};

}  // namespace dvnn::softdv
#endif  // DVNN_SOFTDV_TILES

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(element, float) for each group of channels that is converted at once: of `count` pixels
// of one or two whole chunks, `plane` elements apart, and the same pixels of the working tensor,
// `stride` floats apart.
using Chunk = hn::CappedTag<float, 8>;
template <typename F>
HWY_INLINE void ForEachVector(size_t chunks, size_t plane, size_t count, size_t stride, F f) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < chunks; ++c) {
      for (size_t k = 0; k < 8; k += hn::Lanes(Chunk())) {
        f(c * plane + 8 * i + k, i * stride + 8 * c + k);
      }
    }
  }
}

HWY_INLINE void LoadChunks(const half_t* HWY_RESTRICT from, size_t chunks, size_t plane,
                           float* HWY_RESTRICT to, size_t count, size_t stride) {
  ForEachVector(chunks, plane, count, stride, [=](size_t in, size_t out) HWY_ATTR {
    hn::StoreU(LoadHalves(Chunk(), from + in), Chunk(), to + out);
  });
}

HWY_INLINE void AddChunks(const half_t* HWY_RESTRICT from, size_t chunks, size_t plane,
                          float* HWY_RESTRICT to, size_t count, size_t stride) {
  ForEachVector(chunks, plane, count, stride, [=](size_t in, size_t out) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(Chunk(), to + out), LoadHalves(Chunk(), from + in));
    hn::StoreU(sum, Chunk(), to + out);
  });
}

HWY_INLINE void StoreChunks(const float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t chunks,
                            size_t plane, size_t count, size_t stride) {
  ForEachVector(chunks, plane, count, stride, [=](size_t out, size_t in) HWY_ATTR {
    StoreHalves(Chunk(), hn::LoadU(Chunk(), from + in), to + out);
  });
}

void LoadRows(const half_t* from, const WorkingShape& shape, Band band, float* to) {
  const size_t stride = static_cast<size_t>(shape.channels), plane = 8 * shape.pixels();
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = from + tile.chunked;
    float* value = to + tile.working;
    if (tile.channels >= 8) {
      LoadChunks(chunk, tile.channels / 8, plane, value, tile.pixels, stride);
    } else {
      for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
        for (size_t k = 0; k < tile.channels; ++k) value[k] = half_to_float(*chunk++);
      }
    }
  }
}

void AddRows(const half_t* addend, const WorkingShape& shape, Band band, float* data) {
  const size_t stride = static_cast<size_t>(shape.channels), plane = 8 * shape.pixels();
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = addend + tile.chunked;
    float* sum = data + tile.working;
    if (tile.channels >= 8) {
      AddChunks(chunk, tile.channels / 8, plane, sum, tile.pixels, stride);
    } else {
      for (size_t i = 0; i < tile.pixels; ++i, sum += stride) {
        for (size_t k = 0; k < tile.channels; ++k) sum[k] += half_to_float(*chunk++);
      }
    }
  }
}

void StoreRows(const float* from, const WorkingShape& shape, Band band, half_t* to) {
  const size_t stride = static_cast<size_t>(shape.channels), plane = 8 * shape.pixels();
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    half_t* chunk = to + tile.chunked;
    const float* value = from + tile.working;
    if (tile.channels >= 8) {
      StoreChunks(value, chunk, tile.channels / 8, plane, tile.pixels, stride);
    } else {
      for (size_t i = 0; i < tile.pixels; ++i, value += stride) {
        for (size_t k = 0; k < tile.channels; ++k) *chunk++ = float_to_half(value[k]);
      }
    }
  }
}

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
      for (size_t k = 0; k < tile.channels; ++k) {
        value[k] = half_to_float(chunk[k / 8 * 8 * shape.pixels() + k % 8]);
      }
      chunk += std::min(Tiles::kChunk, tile.channels);
    }
  }
}

void store_rows(const float* from, const WorkingShape& shape, Band band, half_t* to) {
  if (!has_one_chunk(shape)) {
    HWY_DYNAMIC_DISPATCH(StoreRows)(from, shape, band, to);
    return;
  }
  const size_t start = static_cast<size_t>(band.first) * shape.row();
  float_to_half(from, to + start, static_cast<size_t>(band.last) * shape.row() - start);
}

void add_rows(const half_t* addend, const WorkingShape& shape, Band band, float* data) {
  HWY_DYNAMIC_DISPATCH(AddRows)(addend, shape, band, data);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
