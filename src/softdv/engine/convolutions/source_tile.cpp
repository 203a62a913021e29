// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/source_tile.h"

#include <algorithm>

#include "softdv/engine/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/source_tile.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/halves-inl.h"

#ifndef DVNN_SOFTDV_SOURCE_ROWS
#define DVNN_SOFTDV_SOURCE_ROWS
namespace dvnn::softdv {

// Rows of a chunk's pixels, with the zeros around them.
struct SourceRows {
  const half_t* plane;     // the chunk
  int rows, row_gap;       // number of rows; positions from one to the next
  size_t row_pixels, gap;  // number of a row's pixels; positions from one to the next
  size_t channels, pixel;  // number of a pixel's channels, and of the floats that it becomes
  size_t width;            // positions
  size_t before, count;    // number of zeros; of pixels after them, from `first` on; zeros follow
  size_t first, stride;    // first source pixel, and pixels between two that are read
};

}  // namespace dvnn::softdv
#endif  // DVNN_SOFTDV_SOURCE_ROWS

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fetches as many values as it loads, which come after them: the next piece of a row often begins
// there, and processors' own prefetching starts anew with each short row.
HWY_INLINE void LoadRow(const half_t* HWY_RESTRICT from, size_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> chunk;
  constexpr size_t kAtOnce = 4, kCacheLine = 64 / sizeof(half_t);
  constexpr int kForReading = 0, kSecondLevel = 2;  // the builtin's second and third argument
  size_t i = 0;
  for (; i + kAtOnce * hn::Lanes(d) <= count; i += kAtOnce * hn::Lanes(d)) {
    for (size_t k = i; k < i + kAtOnce * hn::Lanes(d); k += kCacheLine) {
      __builtin_prefetch(from + count + k, kForReading, kSecondLevel);
    }
    HWY_UNROLL(4)
    for (size_t k = i; k < i + kAtOnce * hn::Lanes(d); k += hn::Lanes(d)) {
      hn::StoreU(LoadHalves(d, from + k), d, to + k);
    }
  }
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(LoadHalves(d, from + i), d, to + i);
  for (; i + hn::Lanes(chunk) <= count; i += hn::Lanes(chunk))
    hn::StoreU(LoadHalves(chunk, from + i), chunk, to + i);
  for (; i < count; ++i) to[i] = half_to_float(from[i]);
}

// Writes zeros: mostly one pixel, for which a call of memset() would take longer.
HWY_INLINE void ClearPixels(float* from, float* to) {
  const hn::CappedTag<float, 8> chunk;
  if (to - from != 8) return std::fill(from, to, 0.0f);
  HWY_UNROLL(2)
  for (size_t k = 0; k < 8; k += hn::Lanes(chunk)) hn::StoreU(hn::Zero(chunk), chunk, from + k);
}

// Loads values beyond the pixel's channels, too, if they can be read.
HWY_INLINE void LoadPixels(const SourceRows& source, const half_t* HWY_RESTRICT from,
                           float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 8> chunk;
  const size_t channels = source.channels, stride = source.stride * channels;
  const size_t values = source.count * stride, last = values - stride + channels;
  const size_t step = source.gap * source.pixel;
  for (size_t at = 0; at < values; at += stride, to += step) {
    if (at + 8 <= last && source.pixel == 8) {
      for (size_t k = 0; k < 8; k += hn::Lanes(chunk)) {
        hn::StoreU(LoadHalves(chunk, from + at + k), chunk, to + k);
      }
    } else {
      for (size_t k = 0; k < channels; ++k) to[k] = half_to_float(from[at + k]);
    }
  }
}

void LoadSource(const SourceRows& source, const Reach& rows, float* HWY_RESTRICT to) {
  const size_t pixel = source.pixel, channels = source.channels;
  const size_t width = source.width * pixel;
  const size_t row_values = source.row_pixels * channels;
  for (int r = 0; r < rows.count; ++r, to += width) {
    const int position = rows.start + r * rows.step;
    const int row = source.row_gap == 1 ? position : position / source.row_gap;
    if (position < 0 || row * source.row_gap != position || row >= source.rows) {
      std::fill(to, to + width, 0.0f);
      continue;
    }
    const half_t* const from =
        source.plane + static_cast<size_t>(row) * row_values + source.first * channels;
    float* const pixels = to + source.before * pixel;
    if (source.gap > 1) {
      std::fill(to, to + width, 0.0f);
      LoadPixels(source, from, pixels);
      continue;
    }
    float* const end = pixels + source.count * pixel;
    ClearPixels(to, pixels);
    if (channels == pixel && source.stride == 1) {
      LoadRow(from, source.count * channels, pixels);
    } else {
      LoadPixels(source, from, pixels);
    }
    ClearPixels(end, to + width);
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(LoadSource);

}  // namespace

Reach reach(const ConvAxis& axis, Band results, bool keep_between) {
  const int start = results.first * axis.stride - axis.before, count = results.last - results.first;
  if (axis.kernel == 1 && !keep_between) return {start, axis.stride, count};
  return {start, 1, (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1};
}

namespace {

// Source pixels along an axis: `before` zeros, then `count` of them.
struct Places {
  int first, before, count;
};

Places find_places(const ConvAxis& axis, const Reach& reach) {
  if (reach.step > 1) {  // only sources without gaps
    auto places_before = [&](int position) {
      return std::clamp(quotient_up(position - reach.start, reach.step), 0, reach.count);
    };
    const int before = places_before(0);
    return {reach.start + before * reach.step, before, places_before(axis.in) - before};
  }
  auto pixels_before = [&](int position) {
    return std::clamp(quotient_up(std::max(position, 0), axis.gap), 0, axis.in);
  };
  const int first = pixels_before(reach.start);
  return {first, std::clamp(first * axis.gap - reach.start, 0, reach.count),
          pixels_before(reach.start + reach.count) - first};
}

}  // namespace

void load_source(const ConvShape& shape, const half_t* from, int chunk, const Reach& rows,
                 const Reach& columns, size_t pixel, float* to) {
  const Places places = find_places(shape.columns, columns);
  SourceRows source;
  source.plane = from + shape.before_chunk(chunk);
  source.rows = shape.rows.in;
  source.row_gap = shape.rows.gap;
  source.row_pixels = shape.columns.inputs();
  source.gap = static_cast<size_t>(shape.columns.gap);
  source.channels = shape.chunk_channels(chunk);
  source.pixel = pixel;
  source.first = static_cast<size_t>(places.first);
  source.count = static_cast<size_t>(places.count);
  source.stride = static_cast<size_t>(columns.step);
  source.width = columns.places();
  source.before = static_cast<size_t>(places.before);
  HWY_DYNAMIC_DISPATCH(LoadSource)(source, rows, to);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
