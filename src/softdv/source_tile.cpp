// SPDX-License-Identifier: Apache-2.0
#include "softdv/source_tile.h"

#include <algorithm>
#include <cstring>

namespace dvnn::softdv {
namespace {

constexpr size_t kChunk = 8;

// Pixels of 8 floats from `count` pixels of `channels`; the floats beyond them are anything.
void load_pixels(const half_t* from, size_t count, size_t channels, float* to, float* spare) {
  if (channels == kChunk) return half_to_float(from, to, count * kChunk);
  half_to_float(from, spare, count * channels);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kChunk, spare + i * channels, kChunk * sizeof(float));
  }
}

// A row of the source with the zeros around it.
struct SourceRow {
  size_t before = 0, count = 0, after = 0;  // pixels
  int first = 0;                            // source pixel after the zeros
};

SourceRow source_row(const ConvAxis& axis, const Reach& columns) {
  const int end = columns.start + columns.count;
  const int first = std::clamp(columns.start, 0, axis.in), last = std::clamp(end, first, axis.in);
  SourceRow row;
  row.first = first;
  row.count = static_cast<size_t>(last - first);
  row.before = std::min(static_cast<size_t>(columns.count) - row.count,
                        static_cast<size_t>(std::max(-columns.start, 0)));
  row.after = static_cast<size_t>(columns.count) - row.count - row.before;
  return row;
}

}  // namespace

Reach reach(const ConvAxis& axis, int first, int last, bool keep_between) {
  const int start = first * axis.stride - axis.before, results = last - first;
  if (axis.kernel == 1 && !keep_between) return {start, axis.stride, results};
  return {start, 1, (results - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1};
}

void load_source(const ConvShape& shape, const half_t* from, int chunk, const Reach& rows,
                 const Reach& columns, float* to, float* spare) {
  const SourceRow source = source_row(shape.columns, columns);
  const size_t done = static_cast<size_t>(chunk) * kChunk;
  const size_t channels = std::min(kChunk, static_cast<size_t>(shape.in_channels) - done);
  const size_t row_pixels = static_cast<size_t>(shape.columns.in);
  const half_t* const plane = from + done * row_pixels * static_cast<size_t>(shape.rows.in);
  const size_t width = static_cast<size_t>(columns.count) * kChunk;
  for (int r = 0; r < rows.count; ++r, to += width) {
    const int row = rows.start + r * rows.step;
    if (row < 0 || row >= shape.rows.in) {
      std::fill(to, to + width, 0.0f);
      continue;
    }
    const size_t first = static_cast<size_t>(row) * row_pixels + static_cast<size_t>(source.first);
    float* const pixels = to + source.before * kChunk;
    float* const end = pixels + source.count * kChunk;
    std::fill(to, pixels, 0.0f);
    load_pixels(plane + first * channels, source.count, channels, pixels, spare);
    std::fill(end, to + width, 0.0f);
  }
}

size_t spare_floats(const Reach& columns) {
  return (static_cast<size_t>(columns.count) + 1) * kChunk;
}

}  // namespace dvnn::softdv
