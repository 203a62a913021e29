// SPDX-License-Identifier: Apache-2.0
#include "softdv/convolutions/depthwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "softdv/aligned_floats.h"
#include "softdv/convolutions/source_tile.h"

namespace dvnn::softdv {
namespace {

bool suits_depthwise(const ConvAxis& axis) {
  return (axis.kernel == 3 || axis.kernel == 5) && (axis.stride == 1 || axis.stride == 2) &&
         axis.dilation == 1 && axis.before >= 0 && axis.gap == 1;
}

// Floats over which a chunk's weights repeat: whole pixels, and whole vectors of 16.
size_t pattern_of(size_t channels) {
  return std::lcm(channels, size_t{16});
}

// Floats that vectors read beyond the source of the last result; they write fewer.
constexpr size_t kReadBeyond = 64;

// `pixels` results of a chunk side by side; from[y] is the source row for the y-th row of taps.
void convolve_row(int kernel, size_t channels, const float* const* from, const DepthwiseWeights& by,
                  size_t pixels, float* to, const RegisterFinish* finish) {
  if (channels == 8) return depthwise_row(kernel, 1, 0, from, by, pixels, to, finish);
  ragged_depthwise_row(kernel, channels, pattern_of(channels), from, by, pixels, to);
}

}  // namespace

bool Depthwise::suits(const ConvShape& shape) {
  // The last chunk's pixels are not a vector's part: only where they follow one another.
  const bool follow = shape.columns.stride == 1 || shape.out_channels % kChunk == 0;
  return shape.depthwise && shape.in_channels == shape.out_channels && follow &&
         shape.rows.kernel == shape.columns.kernel && suits_depthwise(shape.rows) &&
         suits_depthwise(shape.columns);
}

Depthwise::Depthwise(const ConvShape& shape, const float* weights, const float* bias)
    : shape_(shape) {
  const auto side = static_cast<size_t>(shape.rows.kernel);
  const size_t taps = side * side;
  for (int c = 0; c < chunks(); ++c) {
    const auto count = static_cast<size_t>(channels(c));
    const size_t first = static_cast<size_t>(c) * kChunk, pattern = pattern_of(count);
    Kernel kernel;
    for (size_t k = 0; k < taps; ++k) {
      const size_t tap = is_turned() ? k % side * side + k / side : k;
      for (size_t i = 0; i < pattern; ++i) {
        kernel.weights.push_back(weights[(first + i % count) * taps + tap]);
      }
    }
    for (size_t i = 0; i < pattern; ++i) kernel.bias.push_back(bias[first + i % count]);
    kernels_.push_back(std::move(kernel));
  }
}

int Depthwise::channels(int chunk) const {
  return std::min(kChunk, shape_.out_channels - chunk * kChunk);
}

Depthwise::Rows::Rows(const Depthwise& of, const half_t* from, int chunk)
    : of_(of),
      kernel_(of.kernels_[static_cast<size_t>(chunk)]),
      channels_(static_cast<size_t>(of.channels(chunk))) {
  const ConvAxis& columns = of.shape_.columns;
  const auto pixels = static_cast<size_t>(of.shape_.rows.in) * static_cast<size_t>(columns.in);
  chunk_ = from + static_cast<size_t>(chunk) * kChunk * pixels;
  // With the zeros before and after, and room for the vector that reads beyond the last result.
  const int reach = (columns.out - 1) * columns.stride + columns.kernel;
  const int width = std::max(columns.before + columns.in, reach);
  // Whole vectors, so that both begin at a cache line.
  if (columns.stride == 2) odd_ = static_cast<size_t>(width + 3) / 4 * 2 * kChunk;
  stride_ = std::max(2 * odd_, static_cast<size_t>(width) * kChunk) + kBeyond;
  const size_t result = static_cast<size_t>(columns.out) * kChunk + kBeyond;
  static thread_local AlignedFloats buffer;
  zeros_ = buffer.room((kMostRows + 1) * stride_ + kMostMade * result);
  held_ = zeros_ + stride_;
  spare_ = held_ + kMostRows * stride_;
  std::fill(zeros_, held_, 0.0f);
  const size_t first = static_cast<size_t>(columns.before) * channels_;
  const size_t last = first + static_cast<size_t>(columns.in) * channels_;
  for (int k = 0; k < held_rows(); ++k) {
    float* const row = held_ + static_cast<size_t>(k) * stride_;
    // Zeros before and after, of which rows that are split have some in two places.
    std::fill(row, odd_ ? row + stride_ : row + first, 0.0f);
    std::fill(row + last, row + stride_, 0.0f);
    holds_[k] = -1;
  }
}

void Depthwise::run(const half_t* from, int chunk, int first, int last, float* to) const {
  const size_t row_floats =
      static_cast<size_t>(out_columns()) * static_cast<size_t>(channels(chunk));
  if (is_small()) {
    convolve_small(from, chunk, first, last, to, nullptr);
    return;
  }
  if (is_narrow()) {
    std::copy_n(convolve_narrow(from, chunk, first, last),
                static_cast<size_t>(last - first) * row_floats, to);
    return;
  }
  Rows rows(*this, from, chunk);
  for (int row = first; row < last;) {
    const int count = rows.convolve(row, last, to, nullptr);
    row += count;
    to += static_cast<size_t>(count) * row_floats;
  }
}

namespace {

constexpr size_t kSlopes = 16;  // what vectors read of a chunk's, repeated

// From what `finish` says of the whole result to what it says of `chunk` from element `start` on.
// `slopes` is where its slopes are.
void go_to(int chunk, size_t start, float* slopes, RegisterFinish* finish) {
  if (finish->slopes) {
    for (size_t i = 0; i < kSlopes; ++i) {
      slopes[i] = finish->slopes[static_cast<size_t>(chunk) * 8 + i % 8];
    }
    finish->slopes = slopes;
  }
  start += static_cast<size_t>(chunk) * finish->plane;
  finish->to += start;
  if (finish->addend) finish->addend += start;
}

}  // namespace

void Depthwise::run(const half_t* from, int chunk, int first, int last,
                    RegisterFinish finish) const {
  const auto row_results = static_cast<size_t>(out_columns()) * kChunk;
  float slopes[kSlopes];
  go_to(chunk, static_cast<size_t>(first) * row_results, slopes, &finish);
  if (is_small()) {
    convolve_small(from, chunk, first, last, nullptr, &finish);
    return;
  }
  Rows rows(*this, from, chunk);
  for (int row = first; row < last;) {
    const int count = rows.convolve(row, last, nullptr, &finish);
    row += count;
    finish.to += static_cast<size_t>(count) * row_results;
    if (finish.addend) finish.addend += static_cast<size_t>(count) * row_results;
  }
}

void Depthwise::run_pooled(const half_t* from, int chunk, int first, int last, int pixels,
                           RegisterFinish finish) const {
  const size_t row_results = static_cast<size_t>(pixels) * kChunk;
  float slopes[kSlopes];
  go_to(chunk, static_cast<size_t>(first) * row_results, slopes, &finish);
  Rows rows(*this, from, chunk);
  for (int row = first; row < last; ++row) {
    rows.convolve_pooled(2 * row, pixels, finish);
    finish.to += row_results;
  }
}

float* Depthwise::convolve_small(const half_t* from, int chunk, int first, int last, float* to,
                                 const RegisterFinish* finish) const {
  const Reach down = reach(shape_.rows, {first, last}, true);
  const Reach across = reach(shape_.columns, {0, shape_.columns.out}, true);
  const auto pixels = static_cast<size_t>(shape_.columns.out);
  const auto rows = static_cast<size_t>(last - first);
  const size_t width = static_cast<size_t>(across.count) * kChunk;
  const size_t source = static_cast<size_t>(down.count) * width;
  static thread_local AlignedFloats buffer;
  float* const tile = buffer.room(source + rows * pixels * kChunk + kBeyond);
  if (!to && !finish) to = tile + source;
  load_source(shape_, from, chunk, down, across, kChunk, tile);
  const Kernel& kernel = kernels_[static_cast<size_t>(chunk)];
  depthwise_tile(tile, width, rows, kernel.both(), pixels, to, finish);
  return to;
}

namespace {

void copy_pixel(const float* from, float* to) {
  std::memcpy(to, from, 8 * sizeof *to);
}

}  // namespace

float* Depthwise::convolve_turned(const half_t* from, int chunk, int first, int last) const {
  const ConvAxis &down = shape_.rows, &across = shape_.columns;
  const auto rows = static_cast<size_t>(last - first + down.kernel - 1);  // with the zeros
  const auto columns = static_cast<size_t>((across.out - 1) * across.stride + across.kernel);
  const auto made_rows = static_cast<size_t>(last - first);
  const auto made_columns = static_cast<size_t>(across.out);
  const int start = first - down.before;
  const int first_row = std::clamp(start, 0, down.in);
  const int last_row = std::clamp(start + static_cast<int>(rows), first_row, down.in);
  const auto row_floats = static_cast<size_t>(across.in) * kChunk;
  const size_t source = static_cast<size_t>(last_row - first_row) * row_floats;
  const size_t turned_floats = rows * columns * kChunk, results = made_rows * made_columns * kChunk;
  static thread_local AlignedFloats buffer;
  float* const values = buffer.room(source + turned_floats + 2 * (results + kReadBeyond));
  float* const turned = values + source;
  float* const made = turned + turned_floats + kReadBeyond;
  const size_t plane = static_cast<size_t>(down.in) * row_floats;
  half_to_float(
      from + static_cast<size_t>(chunk) * plane + static_cast<size_t>(first_row) * row_floats,
      values, source);
  std::fill(turned, made, 0.0f);
  for (int r = first_row; r < last_row; ++r) {
    const float* row = values + static_cast<size_t>(r - first_row) * row_floats;
    for (int c = 0; c < across.in; ++c) {
      const int column = c + across.before;
      if (column < 0 || column >= static_cast<int>(columns)) continue;
      copy_pixel(
          row + c * kChunk,
          turned + (static_cast<size_t>(column) * rows + static_cast<size_t>(r - start)) * kChunk);
    }
  }
  const Kernel& kernel = kernels_[static_cast<size_t>(chunk)];
  float* const result = made + results + kReadBeyond;
  for (size_t c = 0; c < made_columns; ++c) {
    const float* taps[kMostRows];
    for (size_t k = 0; k < static_cast<size_t>(across.kernel); ++k) {
      taps[k] = turned + (c * static_cast<size_t>(across.stride) + k) * rows * kChunk;
    }
    convolve_row(across.kernel, kChunk, taps, kernel.both(), made_rows, made, nullptr);
    for (size_t r = 0; r < made_rows; ++r) {
      copy_pixel(made + r * kChunk, result + (r * made_columns + c) * kChunk);
    }
  }
  return result;
}

float* Depthwise::convolve_narrow(const half_t* from, int chunk, int first, int last) const {
  if (is_turned()) return convolve_turned(from, chunk, first, last);
  const Reach down = reach(shape_.rows, {first, last}, true);
  const Reach across = reach(shape_.columns, {0, shape_.columns.out}, true);
  const auto count = static_cast<size_t>(channels(chunk));
  const size_t width = static_cast<size_t>(across.count) * count;
  const size_t source = static_cast<size_t>(down.count) * width;
  const auto rows = static_cast<size_t>(last - first);
  const auto columns = static_cast<size_t>(shape_.columns.out);
  static thread_local AlignedFloats buffer;
  float* const values = buffer.room(source + rows * width + 2 * kReadBeyond);
  float* const made = values + source + kReadBeyond;
  load_source(shape_, from, chunk, down, across, count, values);
  std::fill(values + source, made, 0.0f);
  const float* taps[kMostRows];
  for (int k = 0; k < shape_.rows.kernel; ++k) taps[k] = values + static_cast<size_t>(k) * width;
  const Kernel& kernel = kernels_[static_cast<size_t>(chunk)];
  convolve_row(shape_.rows.kernel, count, taps, kernel.both(),
               (rows - 1) * static_cast<size_t>(across.count) + columns, made, nullptr);
  for (size_t r = 1; r < rows; ++r)
    std::copy_n(made + r * width, columns * count, made + r * columns * count);
  return made;
}

// A row of the input as floats, after its zeros.
const float* Depthwise::Rows::input(int row) {
  if (row < 0 || row >= of_.shape_.rows.in) return zeros_;
  const int place = row % held_rows();
  float* const held = held_ + static_cast<size_t>(place) * stride_;
  if (holds_[place] != row) {
    load(row, held);
    holds_[place] = row;
  }
  return held;
}

void Depthwise::Rows::load(int row, float* held) const {
  const ConvAxis& columns = of_.shape_.columns;
  const auto before = static_cast<size_t>(columns.before);
  const auto pixels = static_cast<size_t>(columns.in);
  const half_t* const from = chunk_ + static_cast<size_t>(row) * pixels * channels_;
  if (!odd_) return half_to_float(from, held + before * channels_, pixels * channels_);
  float* const even = held + (before + 1) / 2 * kChunk;
  float* const odd = held + odd_ + before / 2 * kChunk;
  split_pixels(from, pixels, before % 2 ? odd : even, before % 2 ? even : odd);
}

void Depthwise::Rows::inputs(int row, int rows, const float** from) {
  const ConvAxis& axis = of_.shape_.rows;
  for (int k = 0; k < axis.kernel + rows - 1; ++k) {
    from[k] = input(row * axis.stride - axis.before + k);
  }
}

void Depthwise::Rows::convolve_pooled(int row, int pixels, const RegisterFinish& finish) {
  const float* from[kMostRows];
  inputs(row, 2, from);
  depthwise_pooled_rows(from, kernel_.both(), static_cast<size_t>(pixels), spare_, finish);
}

int Depthwise::Rows::convolve(int row, int last, float* to, const RegisterFinish* finish) {
  const ConvAxis &rows = of_.shape_.rows, &columns = of_.shape_.columns;
  const int made = of_.pairs_rows() && row + 1 < last ? 2 : 1;
  const float* from[kMostRows];
  inputs(row, made, from);
  const auto pixels = static_cast<size_t>(columns.out);
  if (made == 2) {
    depthwise_two_rows(from, kernel_.both(), pixels, to, finish);
  } else if (odd_) {
    depthwise_row(rows.kernel, columns.stride, odd_, from, kernel_.both(), pixels, to, finish);
  } else {
    convolve_row(rows.kernel, channels_, from, kernel_.both(), pixels, to, finish);
  }
  return made;
}

}  // namespace dvnn::softdv
