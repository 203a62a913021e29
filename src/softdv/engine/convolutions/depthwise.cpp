// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/depthwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/aligned.h"
#include "base/grid.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/convolutions/source_tile.h"

namespace dvnn::softdv {
namespace {

bool suits_depthwise(const ConvAxis& axis) {
  return (axis.kernel == 3 || axis.kernel == 5) && (axis.stride == 1 || axis.stride == 2) &&
         axis.dilation == 1 && axis.before >= 0 && axis.gap == 1;
}

// Number of floats after which a chunk's weights repeat: whole pixels and whole vectors of 16.
size_t pattern_of(size_t channels) {
  return std::lcm(channels, size_t{16});
}

// Floats that vectors may read beyond the source of the last result; they write fewer.
constexpr size_t kReadBeyond = 64;

// Computes `pixels` results of a chunk; from[y] is the source row for the y-th row of taps.
void convolve_row(int kernel, size_t channels, const float* const* from, const DepthwiseWeights& by,
                  size_t pixels, float* to, const RegisterFinish* finish) {
  if (channels == 8) return depthwise_row(kernel, 1, 0, from, by, pixels, to, finish);
  ragged_depthwise_row(kernel, channels, pattern_of(channels), from, by, pixels, to);
}

}  // namespace

bool Depthwise::suits(const ConvShape& shape) {
  // A partial last chunk does not fill vectors, so its pixels must be adjacent: stride 1.
  const bool follow = shape.columns.stride == 1 || shape.out_channels % kChunk == 0;
  return shape.depthwise && shape.in_channels == shape.out_channels && follow &&
         shape.rows.kernel == shape.columns.kernel && suits_depthwise(shape.rows) &&
         suits_depthwise(shape.columns);
}

Depthwise::Depthwise(const ConvShape& shape, const float* weights, const float* bias)
    : shape_(shape) {
  const size_t side = shape.rows.taps(), taps = shape.taps();
  for (size_t first = 0; first < shape.outputs(); first += kChunk) {
    const size_t count = std::min<size_t>(kChunk, shape.outputs() - first);
    const size_t pattern = pattern_of(count);
    for (size_t i = 0; i < pattern; ++i) kernels_.push_back(bias[first + i % count]);
    for (size_t k = 0; k < taps; ++k) {
      const size_t tap = is_turned() ? k % side * side + k / side : k;
      for (size_t i = 0; i < pattern; ++i) {
        kernels_.push_back(weights[(first + i % count) * taps + tap]);
      }
    }
  }
}

DepthwiseWeights Depthwise::kernel(int chunk) const {
  // All chunks before the last one are whole.
  const size_t start = static_cast<size_t>(chunk) * pattern_of(kChunk) * (shape_.taps() + 1);
  const float* const bias = kernels_.data() + start;
  return {bias + pattern_of(channels(chunk)), bias};
}

void Depthwise::fetch_kernel(int chunk) const {
  constexpr size_t kCacheLine = 64 / sizeof(float);
  const float* const first = kernel(chunk).bias;
  const size_t count = pattern_of(channels(chunk)) * (shape_.taps() + 1);
  for (size_t i = 0; i < count; i += kCacheLine) __builtin_prefetch(first + i);
}

Depthwise::Rows::Rows(const Depthwise& of, const half_t* from, int chunk)
    : of_(of),
      kernel_(of.kernel(chunk)),
      chunk_(from + of.shape_.before_chunk(chunk)),
      channels_(of.channels(chunk)) {
  const ConvAxis& columns = of.shape_.columns;
  // Includes the zeros on both sides, and room for the vector that reads beyond the last result.
  const auto before = static_cast<size_t>(columns.before);
  const size_t width =
      std::max(before + columns.inputs(), reach(columns, {0, columns.out}, true).places());
  // Whole vectors, so that the even and the odd pixels both begin at a cache line.
  if (columns.stride == 2) odd_ = (width + 3) / 4 * 2 * kChunk;
  stride_ = std::max(2 * odd_, width * kChunk) + kBeyond;
  const size_t result = columns.outputs() * kChunk + kBeyond;
  static thread_local AlignedFloats buffer;
  zeros_ = buffer.room((kMostRows + 1) * stride_ + kMostMade * result);
  held_ = zeros_ + stride_;
  spare_ = held_ + kMostRows * stride_;
  std::fill(zeros_, held_, 0.0f);
  const size_t first = before * channels_, last = first + columns.inputs() * channels_;
  for (int k = 0; k < held_rows(); ++k) {
    float* const row = held(k);
    // Zeros before and after the pixels; rows split into even and odd pixels have some in two
    // places.
    std::fill(row, odd_ ? row + stride_ : row + first, 0.0f);
    std::fill(row + last, row + stride_, 0.0f);
    holds_[k] = -1;
  }
}

void Depthwise::run(const half_t* from, int chunk, Band rows, float* to) const {
  const size_t row_floats = shape_.columns.outputs() * channels(chunk);
  if (is_small()) {
    convolve_small(from, chunk, rows, to, nullptr);
    return;
  }
  if (is_narrow()) {
    std::copy_n(convolve_narrow(from, chunk, rows), rows.count() * row_floats, to);
    return;
  }
  Rows held(*this, from, chunk);
  while (rows.first < rows.last) {
    const Band made = held.convolve(rows, to, nullptr);
    rows.first = made.last;
    to += made.count() * row_floats;
  }
}

void Depthwise::run(const half_t* from, int chunk, Band rows, RegisterFinish finish) const {
  const size_t row_results = shape_.columns.outputs() * kChunk;
  float slopes[kRepeatedSlopes];
  go_to_chunk(chunk, rows.before() * row_results, slopes, &finish);
  if (is_small()) {
    convolve_small(from, chunk, rows, nullptr, &finish);
    return;
  }
  Rows held(*this, from, chunk);
  while (rows.first < rows.last) {
    const Band made = held.convolve(rows, nullptr, &finish);
    rows.first = made.last;
    finish.to += made.count() * row_results;
    if (finish.addend) finish.addend += made.count() * row_results;
  }
}

void Depthwise::run_pooled(const half_t* from, int chunk, Band rows, size_t pixels,
                           RegisterFinish finish) const {
  const size_t row_results = pixels * kChunk;
  float slopes[kRepeatedSlopes];
  go_to_chunk(chunk, rows.before() * row_results, slopes, &finish);
  Rows held(*this, from, chunk);
  for (int row = rows.first; row < rows.last; ++row) {
    held.convolve_pooled(2 * row, pixels, finish);
    finish.to += row_results;
  }
}

float* Depthwise::convolve_small(const half_t* from, int chunk, Band rows, float* to,
                                 const RegisterFinish* finish) const {
  const Reach down = reach(shape_.rows, rows, true);
  const Reach across = reach(shape_.columns, {0, shape_.columns.out}, true);
  const size_t pixels = shape_.columns.outputs();
  const size_t width = across.places() * kChunk, source = down.places() * width;
  static thread_local AlignedFloats buffer;
  float* const tile = buffer.room(source + rows.count() * pixels * kChunk + kBeyond);
  if (!to && !finish) to = tile + source;
  load_source(shape_, from, chunk, down, across, kChunk, tile);
  depthwise_tile(tile, width, rows.count(), kernel(chunk), pixels, to, finish);
  return to;
}

namespace {

void copy_pixel(const float* from, float* to) {
  std::memcpy(to, from, 8 * sizeof *to);
}

}  // namespace

float* Depthwise::convolve_turned(const half_t* from, int chunk, Band rows) const {
  const ConvAxis& axis = shape_.columns;
  const Reach down = reach(shape_.rows, rows, true);  // with the zeros
  const Reach across = reach(axis, {0, axis.out}, true);
  const size_t made_rows = rows.count(), made_columns = axis.outputs();
  const int first_row = std::clamp(down.start, 0, shape_.rows.in);
  const Band read = {first_row, std::clamp(down.start + down.count, first_row, shape_.rows.in)};
  const size_t row_floats = axis.inputs() * kChunk, source = read.count() * row_floats;
  const size_t turned_floats = down.places() * across.places() * kChunk;
  const size_t results = made_rows * made_columns * kChunk;
  static thread_local AlignedFloats buffer;
  float* const values = buffer.room(source + turned_floats + 2 * (results + kReadBeyond));
  float* const turned = values + source;
  float* const made = turned + turned_floats + kReadBeyond;
  half_to_float(from + shape_.before_chunk(chunk) + read.before() * row_floats, values, source);
  std::fill(turned, made, 0.0f);
  const float* row = values;
  for (int r = read.first; r < read.last; ++r, row += row_floats) {
    for (int c = 0; c < axis.in; ++c) {
      const int column = c - across.start;
      if (column < 0 || column >= across.count) continue;
      copy_pixel(row + c * kChunk,
                 turned + grid_index(r - down.start, column, down.count) * kChunk);
    }
  }
  const DepthwiseWeights by = kernel(chunk);
  float* const result = made + results + kReadBeyond;
  for (size_t c = 0; c < made_columns; ++c) {
    const float* taps[kMostRows];
    for (size_t k = 0; k < axis.taps(); ++k) {
      taps[k] = turned + (c * axis.result_step() + k) * down.places() * kChunk;
    }
    convolve_row(axis.kernel, kChunk, taps, by, made_rows, made, nullptr);
    for (size_t r = 0; r < made_rows; ++r) {
      copy_pixel(made + r * kChunk, result + (r * made_columns + c) * kChunk);
    }
  }
  return result;
}

float* Depthwise::convolve_narrow(const half_t* from, int chunk, Band rows) const {
  if (is_turned()) return convolve_turned(from, chunk, rows);
  const Reach down = reach(shape_.rows, rows, true);
  const Reach across = reach(shape_.columns, {0, shape_.columns.out}, true);
  const size_t count = channels(chunk), columns = shape_.columns.outputs();
  const size_t width = across.places() * count, source = down.places() * width;
  static thread_local AlignedFloats buffer;
  float* const values = buffer.room(source + rows.count() * width + 2 * kReadBeyond);
  float* const made = values + source + kReadBeyond;
  load_source(shape_, from, chunk, down, across, count, values);
  std::fill(values + source, made, 0.0f);
  const float* taps[kMostRows];
  for (size_t k = 0; k < shape_.rows.taps(); ++k) taps[k] = values + k * width;
  const DepthwiseWeights by = kernel(chunk);
  convolve_row(shape_.rows.kernel, count, taps, by, (rows.count() - 1) * across.places() + columns,
               made, nullptr);
  for (size_t r = 1; r < rows.count(); ++r)
    std::copy_n(made + r * width, columns * count, made + r * columns * count);
  return made;
}

// A row of the input as floats, after its zeros.
const float* Depthwise::Rows::input(int row) {
  if (row < 0 || row >= of_.shape_.rows.in) return zeros_;
  const int place = row % held_rows();
  if (holds_[place] != row) {
    load(row, held(place));
    holds_[place] = row;
  }
  return held(place);
}

void Depthwise::Rows::load(int row, float* held) const {
  const ConvAxis& columns = of_.shape_.columns;
  const auto before = static_cast<size_t>(columns.before);
  const size_t pixels = columns.inputs();
  const half_t* const from = chunk_ + grid_index(0, row, columns.in) * channels_;
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

void Depthwise::Rows::convolve_pooled(int row, size_t pixels, const RegisterFinish& finish) {
  const float* from[kMostRows];
  inputs(row, 2, from);
  depthwise_pooled_rows(from, kernel_, pixels, spare_, finish);
}

Band Depthwise::Rows::convolve(Band rows, float* to, const RegisterFinish* finish) {
  const ConvAxis& columns = of_.shape_.columns;
  const int kernel = of_.shape_.rows.kernel;
  const int made = of_.pairs_rows() && rows.first + 1 < rows.last ? 2 : 1;
  const float* from[kMostRows];
  inputs(rows.first, made, from);
  const size_t pixels = columns.outputs();
  if (made == 2) {
    depthwise_two_rows(from, kernel_, pixels, to, finish);
  } else if (odd_) {
    depthwise_row(kernel, columns.stride, odd_, from, kernel_, pixels, to, finish);
  } else {
    convolve_row(kernel, channels_, from, kernel_, pixels, to, finish);
  }
  return {rows.first, rows.first + made};
}

namespace {

// Cuts a depthwise convolution into `bands` of rows, each into `groups` of chunks.
Shares share_depthwise(int threads, int rows, int chunks) {
  constexpr int kSharesOfThread = 2, kLeastRows = 4;
  if (threads == 1) return {1, 1};
  // Bands come before groups: a thread then reads rows that it has written itself, in the commands
  // before and after, from its own cache.
  const int wanted = kSharesOfThread * threads;
  int bands = std::clamp(rows / kLeastRows, 1, threads);
  const int groups = std::min(chunks, (wanted + bands - 1) / bands);
  if (bands * groups < wanted) bands = std::clamp(rows / kLeastRows, 1, wanted / groups);
  return {bands, groups};
}

}  // namespace

void Depthwise::execute(const half_t* from, const Finish& finish, Team* team) const {
  const auto in_registers = finishes() ? finish.in_registers(pools()) : std::nullopt;
  const int rows = finish.after().rows, chunks = this->chunks();
  const int values = static_cast<int>(finish.before().pixels()) * kChunk;
  auto convolve = [&](int chunk, Band band) {
    if (in_registers && finish.reduction().on()) {
      return run_pooled(from, chunk, band, finish.after().row_pixels(), *in_registers);
    }
    if (in_registers) return run(from, chunk, band, *in_registers);
    if (!finish.reduction().on()) {
      return run(from, chunk, band, [&](Band made, float* floats) {
        const size_t row = finish.after().row_pixels();
        finish.pixels(chunk, made.before() * row, made.count() * row, floats);
      });
    }
    const Band reads = finish.reduction().input_rows(finish.before(), band);
    const size_t row_floats = Finish::part(finish.before(), chunk).row();
    static thread_local AlignedFloats buffer;
    float* const all = buffer.room(reads.count() * row_floats + kBeyond);
    run(from, chunk, reads, all);
    finish.rows(chunk, band, reads, all);
  };
  // Single rows stay in the cache; all the rows that a reduction needs at once do not.
  const bool by_rows = in_registers || !finish.reduction().on();
  const Shares shares = by_rows ? share_depthwise(team->size(), rows, chunks)
                                : Shares{std::clamp(values / kTaskValues, 1, rows), chunks};
  team->run(shares.bands * shares.groups, [&](int i) {
    const Band some = band_of(chunks, i % shares.groups, shares.groups);
    const Band band = band_of(rows, i / shares.groups, shares.bands);
    for (int chunk = some.first; chunk < some.last; ++chunk) {
      if (chunk + 1 < some.last) fetch_kernel(chunk + 1);
      convolve(chunk, band);
    }
  });
}

}  // namespace dvnn::softdv
