// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/source_tile.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/source_tile.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/halves-inl.h"

#ifndef DVNN_SOFTDV_SOURCE_ROWS
#define DVNN_SOFTDV_SOURCE_ROWS
namespace dvnn::softdv {

// Rows of a chunk's pixels with the zeros around them.
struct SourceRows {
  const half_t* plane;     // the chunk
  int rows, row_gap;       // number of rows; positions from one to the next
  size_t row_pixels, gap;  // number of a row's pixels; positions from one to the next
  size_t channels, pixel;  // of a pixel; floats that it becomes
  size_t width;            // positions
  size_t before, count;    // zeros; pixels after them, from `first` on; then zeros again
  size_t first;
};

}  // namespace dvnn::softdv
#endif  // DVNN_SOFTDV_SOURCE_ROWS

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void LoadRow(const half_t* HWY_RESTRICT from, size_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> chunk;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(LoadHalves(d, from + i), d, to + i);
  for (; i + hn::Lanes(chunk) <= count; i += hn::Lanes(chunk))
    hn::StoreU(LoadHalves(chunk, from + i), chunk, to + i);
  for (; i < count; ++i) to[i] = half_to_float(from[i]);
}

// Some that are no channels of the pixel come along, where they can be read.
HWY_INLINE void LoadPixels(const SourceRows& source, const half_t* HWY_RESTRICT from,
                           float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 8> chunk;
  const size_t channels = source.channels, values = source.count * channels;
  const size_t step = source.gap * source.pixel;
  for (size_t at = 0; at < values; at += channels, to += step) {
    if (at + 8 <= values && source.pixel == 8) {
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
    const int position = rows.start + r * rows.step, row = position / source.row_gap;
    if (position < 0 || position % source.row_gap != 0 || row >= source.rows) {
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
    for (float* zero = to; zero < pixels; ++zero) *zero = 0;
    if (channels == pixel) {
      LoadRow(from, source.count * channels, pixels);
    } else {
      LoadPixels(source, from, pixels);
    }
    for (float* zero = end; zero < to + width; ++zero) *zero = 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
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

void load_source(const ConvShape& shape, const half_t* from, int chunk, const Reach& rows,
                 const Reach& columns, size_t pixel, float* to) {
  const int in = shape.columns.in, gap = shape.columns.gap;
  // The number of pixels before a position.
  auto pixels_before = [=](int position) {
    return std::clamp((std::max(position, 0) + gap - 1) / gap, 0, in);
  };
  const Band pixels = {pixels_before(columns.start), pixels_before(columns.start + columns.count)};
  const int zeros = std::clamp(pixels.first * gap - columns.start, 0, columns.count);
  SourceRows source;
  source.plane = from + shape.before_chunk(chunk);
  source.rows = shape.rows.in;
  source.row_gap = shape.rows.gap;
  source.row_pixels = shape.columns.inputs();
  source.gap = static_cast<size_t>(gap);
  source.channels = shape.chunk_channels(chunk);
  source.pixel = pixel;
  source.first = pixels.before();
  source.count = pixels.count();
  source.width = columns.places();
  source.before = static_cast<size_t>(zeros);
  HWY_DYNAMIC_DISPATCH(LoadSource)(source, rows, to);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
