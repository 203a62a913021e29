// SPDX-License-Identifier: Apache-2.0
#include "softdv/runs/working_format.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/runs/working_format.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

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

// See tensor/convert_half.cpp: where conversions are instructions.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define DVNN_VECTOR_HALF 1
#else
#define DVNN_VECTOR_HALF 0
#endif

// Each function handles `count` pixels of one or two whole chunks, `plane` elements apart, and the
// same pixels of the working tensor, `stride` floats apart. Two chunks fill a vector of 16 floats.

#if DVNN_VECTOR_HALF

// Calls f(float tag, half tag, chunk, channel) for each group of channels that is converted at
// once.
template <typename F>
HWY_INLINE void ForEachVector(size_t chunks, size_t plane, F f) {
  const hn::CappedTag<float, 8> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (size_t c = 0; c < chunks; ++c) {
    for (size_t k = 0; k < 8; k += hn::Lanes(df)) f(df, dh, c * plane + k, 8 * c + k);
  }
}

// Where a vector holds 16 floats, it holds a pixel of two chunks.
#if HWY_TARGET <= HWY_AVX3
#define DVNN_TWO_CHUNKS 1

using Floats16 = hn::FixedTag<float, 16>;
using Halves16 = hn::Rebind<hwy::float16_t, Floats16>;
using Halves8 = hn::Half<Halves16>;
using Bits16 = hn::RebindToUnsigned<Halves16>;

HWY_INLINE hn::Vec<Floats16> LoadTwoChunks(const hwy::float16_t* from, size_t plane) {
  const hn::RebindToUnsigned<Halves8> bits;
  const auto low = hn::LoadU(bits, reinterpret_cast<const uint16_t*>(from));
  const auto high = hn::LoadU(bits, reinterpret_cast<const uint16_t*>(from + plane));
  return hn::PromoteTo(Floats16(), hn::BitCast(Halves16(), hn::Combine(Bits16(), high, low)));
}

HWY_INLINE void StoreTwoChunks(hn::Vec<Floats16> from, hwy::float16_t* to, size_t plane) {
  const auto bits = hn::BitCast(Bits16(), hn::DemoteTo(Halves16(), from));
  const hn::RebindToUnsigned<Halves8> half;
  hn::StoreU(hn::LowerHalf(half, bits), half, reinterpret_cast<uint16_t*>(to));
  hn::StoreU(hn::UpperHalf(half, bits), half, reinterpret_cast<uint16_t*>(to + plane));
}
#else
#define DVNN_TWO_CHUNKS 0
#endif

HWY_INLINE void LoadChunks(const half_t* HWY_RESTRICT from, size_t chunks, size_t plane,
                           float* HWY_RESTRICT to, size_t count, size_t stride) {
  const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
#if DVNN_TWO_CHUNKS
  if (chunks == 2) {
    for (size_t i = 0; i < count; ++i, halves += 8, to += stride) {
      hn::StoreU(LoadTwoChunks(halves, plane), Floats16(), to);
    }
    return;
  }
#endif
  for (size_t i = 0; i < count; ++i, halves += 8, to += stride) {
    ForEachVector(chunks, plane, [&](auto df, auto dh, size_t in, size_t out) HWY_ATTR {
      hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, halves + in)), df, to + out);
    });
  }
}

HWY_INLINE void AddChunks(const half_t* HWY_RESTRICT from, size_t chunks, size_t plane,
                          float* HWY_RESTRICT to, size_t count, size_t stride) {
  const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
#if DVNN_TWO_CHUNKS
  if (chunks == 2) {
    for (size_t i = 0; i < count; ++i, halves += 8, to += stride) {
      const Floats16 d;
      hn::StoreU(hn::Add(hn::LoadU(d, to), LoadTwoChunks(halves, plane)), d, to);
    }
    return;
  }
#endif
  for (size_t i = 0; i < count; ++i, halves += 8, to += stride) {
    ForEachVector(chunks, plane, [&](auto df, auto dh, size_t in, size_t out) HWY_ATTR {
      const auto addend = hn::PromoteTo(df, hn::LoadU(dh, halves + in));
      hn::StoreU(hn::Add(hn::LoadU(df, to + out), addend), df, to + out);
    });
  }
}

HWY_INLINE void StoreChunks(const float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t chunks,
                            size_t plane, size_t count, size_t stride) {
  auto* halves = reinterpret_cast<hwy::float16_t*>(to);
#if DVNN_TWO_CHUNKS
  if (chunks == 2) {
    for (size_t i = 0; i < count; ++i, halves += 8, from += stride) {
      StoreTwoChunks(hn::LoadU(Floats16(), from), halves, plane);
    }
    return;
  }
#endif
  for (size_t i = 0; i < count; ++i, halves += 8, from += stride) {
    ForEachVector(chunks, plane, [&](auto df, auto dh, size_t out, size_t in) HWY_ATTR {
      hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + in)), dh, halves + out);
    });
  }
}

#else

template <typename F>
void ForEachElement(size_t chunks, size_t plane, size_t count, size_t stride, F f) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8 * chunks; ++k) f(k / 8 * plane + 8 * i + k % 8, i * stride + k);
  }
}

void LoadChunks(const half_t* from, size_t chunks, size_t plane, float* to, size_t count,
                size_t stride) {
  ForEachElement(chunks, plane, count, stride,
                 [&](size_t in, size_t out) { to[out] = half_to_float(from[in]); });
}

void AddChunks(const half_t* from, size_t chunks, size_t plane, float* to, size_t count,
               size_t stride) {
  ForEachElement(chunks, plane, count, stride,
                 [&](size_t in, size_t out) { to[out] += half_to_float(from[in]); });
}

void StoreChunks(const float* from, half_t* to, size_t chunks, size_t plane, size_t count,
                 size_t stride) {
  ForEachElement(chunks, plane, count, stride,
                 [&](size_t out, size_t in) { to[out] = float_to_half(from[in]); });
}

#endif  // DVNN_VECTOR_HALF

void LoadRows(const half_t* from, const WorkingShape& shape, Band band, float* to) {
  const size_t stride = static_cast<size_t>(shape.channels), plane = 8 * shape.pixels();
  Tiles tiles(shape, band);
  for (Tile tile; tiles.next(&tile);) {
    const half_t* chunk = from + tile.chunked;
    float* value = to + tile.working;
    if (tile.channels == 16) {
      LoadChunks(chunk, 2, plane, value, tile.pixels, stride);
    } else if (tile.channels == 8) {
      LoadChunks(chunk, 1, plane, value, tile.pixels, stride);
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

#undef DVNN_VECTOR_HALF
#undef DVNN_TWO_CHUNKS
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
