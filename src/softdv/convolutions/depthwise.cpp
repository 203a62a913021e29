// SPDX-License-Identifier: Apache-2.0
#include "softdv/convolutions/depthwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "softdv/aligned_floats.h"
#include "softdv/convolutions/source_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/convolutions/depthwise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/convolutions/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A row of results of 8 channels: from[y] is the source row for the y-th row of taps, from the
// first tap of the first result on. `weights` and `bias` repeat over 16 floats, `weights` for each
// tap.
struct Row {
  int kernel;  // taps along each axis
  const float* const* from;
  const float* weights;
  const float* bias;
  size_t count;  // floats
};

// Where the taps of the floats from `i` on begin. With a stride of 2 a vector has one pixel at
// most.
template <int kStride>
HWY_INLINE size_t FirstTap(size_t i) {
  return kStride == 1 ? i : 2 * (i - i % 8) + i % 8;
}

// The floats from `at` + 8 on, given those from `at` and from `at` + 16 on: a vector of 16 would
// straddle two cache lines.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> LoadBetween(D d, const float* at, hn::Vec<D> before, hn::Vec<D> after) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16 && kStride == 1) {
    return hn::ConcatLowerUpper(d, after, before);
  }
#endif
  (void)before;
  (void)after;
  return hn::LoadU(d, at + 8);
}

// The nine weights stay in registers, and each row of taps has a sum of its own. Calls
// take(vector, i) for the floats from `i` on.
template <int kStride, class D, class Take>
HWY_INLINE void ConvolveRow(D d, const Row& row, Take take) {
  const float *r0 = row.from[0], *r1 = row.from[1], *r2 = row.from[2];
  for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
    const float* weights = row.weights + lane;
    const auto bias = hn::Load(d, row.bias + lane);
    const auto w0 = hn::Load(d, weights), w1 = hn::Load(d, weights + 16);
    const auto w2 = hn::Load(d, weights + 32), w3 = hn::Load(d, weights + 48);
    const auto w4 = hn::Load(d, weights + 64), w5 = hn::Load(d, weights + 80);
    const auto w6 = hn::Load(d, weights + 96), w7 = hn::Load(d, weights + 112);
    const auto w8 = hn::Load(d, weights + 128);
    const size_t step = std::max<size_t>(8, hn::Lanes(d));
    for (size_t i = lane; i < row.count; i += step) {
      // The last vector begins earlier rather than to reach beyond the row.
      const size_t to = i + hn::Lanes(d) > row.count ? row.count - hn::Lanes(d) : i;
      const size_t at = FirstTap<kStride>(to);
      const auto a0 = hn::LoadU(d, r0 + at), a2 = hn::LoadU(d, r0 + at + 16);
      const auto b0 = hn::LoadU(d, r1 + at), b2 = hn::LoadU(d, r1 + at + 16);
      const auto c0 = hn::LoadU(d, r2 + at), c2 = hn::LoadU(d, r2 + at + 16);
      auto a = hn::MulAdd(a0, w0, bias);
      auto b = hn::Mul(b0, w3);
      auto c = hn::Mul(c0, w6);
      a = hn::MulAdd(LoadBetween<kStride>(d, r0 + at, a0, a2), w1, a);
      b = hn::MulAdd(LoadBetween<kStride>(d, r1 + at, b0, b2), w4, b);
      c = hn::MulAdd(LoadBetween<kStride>(d, r2 + at, c0, c2), w7, c);
      a = hn::MulAdd(a2, w2, a);
      b = hn::MulAdd(b2, w5, b);
      c = hn::MulAdd(c2, w8, c);
      take(hn::Add(hn::Add(a, b), c), to);
    }
  }
}

// kVectors vectors of kernels of 5x5 from `i` on, with a sum for each row of taps.
template <int kStride, size_t kVectors, class D, class Take>
HWY_INLINE void ConvolveVectors5(D d, const Row& row, size_t lane, size_t i, Take take) {
  constexpr size_t kStep = hn::MaxLanes(D()) < 8 ? 8 : hn::MaxLanes(D());
  const float* const weights = row.weights + lane;
  const size_t first = FirstTap<kStride>(i);
  hn::Vec<D> sums[5][kVectors];
  HWY_UNROLL(5)
  for (size_t y = 0; y < 5; ++y) {
    const float* const taps = weights + y * 5 * 16;
    const auto w0 = hn::Load(d, taps), w1 = hn::Load(d, taps + 16), w2 = hn::Load(d, taps + 32);
    const auto w3 = hn::Load(d, taps + 48), w4 = hn::Load(d, taps + 64);
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      const float* const from = row.from[y] + first + v * kStep * kStride;
      const auto x0 = hn::LoadU(d, from), x2 = hn::LoadU(d, from + 16);
      const auto x4 = hn::LoadU(d, from + 32);
      auto sum = hn::Mul(x0, w0);
      sum = hn::MulAdd(LoadBetween<kStride>(d, from, x0, x2), w1, sum);
      sum = hn::MulAdd(x2, w2, sum);
      sum = hn::MulAdd(LoadBetween<kStride>(d, from + 16, x2, x4), w3, sum);
      sums[y][v] = hn::MulAdd(x4, w4, sum);
    }
  }
  const auto bias = hn::Load(d, row.bias + lane);
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto upper = hn::Add(hn::Add(sums[0][v], sums[1][v]), bias);
    take(hn::Add(hn::Add(upper, sums[2][v]), hn::Add(sums[3][v], sums[4][v])), i + v * kStep);
  }
}

// As ConvolveRow(); the last block begins earlier rather than to reach beyond the row.
template <int kStride, size_t kVectors, class D, class Take>
HWY_INLINE void ConvolveRow5(D d, const Row& row, Take take) {
  constexpr size_t kStep = hn::MaxLanes(D()) < 8 ? 8 : hn::MaxLanes(D());
  if constexpr (kVectors > 1) {
    if (row.count < kVectors * kStep) return ConvolveRow5<kStride, kVectors / 2>(d, row, take);
  }
  for (size_t lane = 0; lane < 8; lane += hn::MaxLanes(d)) {
    const size_t last = row.count - kVectors * kStep;
    for (size_t i = 0; i < row.count; i += kVectors * kStep) {
      ConvolveVectors5<kStride, kVectors>(d, row, lane, std::min(i, last) + lane, take);
    }
  }
}

template <int kStride, class D, class Take>
HWY_INLINE void ConvolveAnyRow(D d, const Row& row, Take take) {
  if (row.kernel == 5) return ConvolveRow5<kStride, 4>(d, row, take);
  ConvolveRow<kStride>(d, row, take);
}

// A row to floats or, if there is one, as `finish` says; its `slopes` repeat over 16 floats.
template <int kStride, class D>
HWY_INLINE void MakeRow(D d, const Row& row, float* HWY_RESTRICT to, const RegisterFinish* finish) {
  if (!finish) {
    ConvolveAnyRow<kStride>(d, row,
                            [=](auto sum, size_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
    return;
  }
  ConvolveAnyRow<kStride>(d, row, [=](auto sum, size_t i) HWY_ATTR {
    if (finish->addend) sum = hn::Add(sum, LoadHalves(d, finish->addend + i));
    const auto slope =
        finish->slopes ? hn::LoadU(d, finish->slopes + i % 8) : hn::Set(d, finish->slope);
    Activate(d, finish->activation, slope, &sum, 1);
    StoreHalves(d, sum, finish->to + i);
  });
}

void DepthwiseRow(int kernel, int stride, const float* const* from, const float* weights,
                  const float* bias, size_t pixels, float* to, const RegisterFinish* finish) {
  const Row row = {kernel, from, weights, bias, 8 * pixels};
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  if (stride == 2) return MakeRow<2>(chunk, row, to, finish);
  if (row.count < hn::Lanes(wide)) return MakeRow<1>(chunk, row, to, finish);
  MakeRow<1>(wide, row, to, finish);
}

// Pixels of fewer channels, one source pixel apart: weights and bias repeat over `pattern` floats,
// a multiple of 16.
void RaggedDepthwiseRow(size_t kernel, size_t channels, size_t pattern, const float* const* from,
                        const float* weights, const float* bias, size_t pixels,
                        float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  size_t at = 0;  // within the pattern
  for (size_t i = 0; i < channels * pixels; i += hn::Lanes(d)) {
    auto sum = hn::Load(d, bias + at);
    const float* weight = weights + at;
    for (size_t y = 0; y < kernel; ++y) {
      for (size_t x = 0; x < kernel; ++x, weight += pattern) {
        sum = hn::MulAdd(hn::LoadU(d, from[y] + i + x * channels), hn::Load(d, weight), sum);
      }
    }
    hn::StoreU(sum, d, to + i);
    at = at + hn::Lanes(d) == pattern ? 0 : at + hn::Lanes(d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(DepthwiseRow);
HWY_EXPORT(RaggedDepthwiseRow);

bool suits_axis(const ConvAxis& axis) {
  return (axis.kernel == 3 || axis.kernel == 5) && (axis.stride == 1 || axis.stride == 2) &&
         axis.dilation == 1 && axis.before >= 0;
}

// Floats over which a chunk's weights repeat: whole pixels, and whole vectors of 16.
size_t pattern_of(size_t channels) {
  return std::lcm(channels, size_t{16});
}

// Floats that vectors read beyond the source of the last result; they write fewer.
constexpr size_t kReadBeyond = 64;

// `pixels` results of a chunk side by side; from[y] is the source row for the y-th row of taps.
void convolve_row(int kernel, int stride, size_t channels, const float* const* from,
                  const float* weights, const float* bias, size_t pixels, float* to,
                  const RegisterFinish* finish) {
  if (channels == 8) {
    HWY_DYNAMIC_DISPATCH(DepthwiseRow)
    (kernel, stride, from, weights, bias, pixels, to, finish);
  } else {
    HWY_DYNAMIC_DISPATCH(RaggedDepthwiseRow)
    (static_cast<size_t>(kernel), channels, pattern_of(channels), from, weights, bias, pixels, to);
  }
}

}  // namespace

bool Depthwise::suits(const ConvShape& shape) {
  // The last chunk's pixels are not a vector's part: only where they follow one another.
  const bool follow = shape.columns.stride == 1 || shape.out_channels % kChunk == 0;
  return shape.depthwise && shape.in_channels == shape.out_channels && follow &&
         shape.rows.kernel == shape.columns.kernel && suits_axis(shape.rows) &&
         suits_axis(shape.columns);
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
  stride_ = static_cast<size_t>(width) * kChunk + kBeyond;
  const size_t result = static_cast<size_t>(columns.out) * kChunk + kBeyond;
  static thread_local AlignedFloats buffer;
  zeros_ = buffer.room((kMostRows + 1) * stride_ + result);
  held_ = zeros_ + stride_;
  spare_ = held_ + kMostRows * stride_;
  std::fill(zeros_, held_, 0.0f);
  const size_t first = static_cast<size_t>(columns.before) * channels_;
  const size_t last = first + static_cast<size_t>(columns.in) * channels_;
  for (int k = 0; k < of.shape_.rows.kernel; ++k) {
    float* const row = held_ + static_cast<size_t>(k) * stride_;
    std::fill(row, row + first, 0.0f);
    std::fill(row + last, row + stride_, 0.0f);
    holds_[k] = -1;
  }
}

void Depthwise::run(const half_t* from, int chunk, int first, int last, float* to) const {
  const size_t row_floats =
      static_cast<size_t>(out_columns()) * static_cast<size_t>(channels(chunk));
  if (is_narrow()) {
    std::copy_n(convolve_narrow(from, chunk, first, last),
                static_cast<size_t>(last - first) * row_floats, to);
    return;
  }
  Rows rows(*this, from, chunk);
  for (int row = first; row < last; ++row, to += row_floats) rows.convolve(row, to, nullptr);
}

void Depthwise::run(const half_t* from, int chunk, int first, int last,
                    RegisterFinish finish) const {
  Rows rows(*this, from, chunk);
  const auto row_results = static_cast<size_t>(out_columns()) * kChunk;
  const size_t start =
      static_cast<size_t>(chunk) * finish.plane + static_cast<size_t>(first) * row_results;
  float slopes[2 * kChunk];
  if (finish.slopes) {
    for (int i = 0; i < 2 * kChunk; ++i) slopes[i] = finish.slopes[chunk * kChunk + i % kChunk];
    finish.slopes = slopes;
  }
  finish.to += start;
  if (finish.addend) finish.addend += start;
  for (int row = first; row < last; ++row) {
    rows.convolve(row, nullptr, &finish);
    finish.to += row_results;
    if (finish.addend) finish.addend += row_results;
  }
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
    convolve_row(across.kernel, 1, kChunk, taps, kernel.weights.data(), kernel.bias.data(),
                 made_rows, made, nullptr);
    for (size_t r = 0; r < made_rows; ++r) {
      copy_pixel(made + r * kChunk, result + (r * made_columns + c) * kChunk);
    }
  }
  return result;
}

float* Depthwise::convolve_narrow(const half_t* from, int chunk, int first, int last) const {
  if (is_turned()) return convolve_turned(from, chunk, first, last);
  const Reach down = reach(shape_.rows, first, last, true);
  const Reach across = reach(shape_.columns, 0, shape_.columns.out, true);
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
  convolve_row(shape_.rows.kernel, 1, count, taps, kernel.weights.data(), kernel.bias.data(),
               (rows - 1) * static_cast<size_t>(across.count) + columns, made, nullptr);
  for (size_t r = 1; r < rows; ++r)
    std::copy_n(made + r * width, columns * count, made + r * columns * count);
  return made;
}

// A row of the input as floats, after its zeros.
const float* Depthwise::Rows::input(int row) {
  const ConvAxis& columns = of_.shape_.columns;
  if (row < 0 || row >= of_.shape_.rows.in) return zeros_;
  const int place = row % of_.shape_.rows.kernel;
  float* const held = held_ + static_cast<size_t>(place) * stride_;
  if (holds_[place] != row) {
    const size_t count = static_cast<size_t>(columns.in) * channels_;
    half_to_float(chunk_ + static_cast<size_t>(row) * count,
                  held + static_cast<size_t>(columns.before) * channels_, count);
    holds_[place] = row;
  }
  return held;
}

void Depthwise::Rows::convolve(int row, float* to, const RegisterFinish* finish) {
  const ConvAxis &rows = of_.shape_.rows, &columns = of_.shape_.columns;
  const float* from[kMostRows];
  for (int k = 0; k < rows.kernel; ++k) from[k] = input(row * rows.stride - rows.before + k);
  convolve_row(rows.kernel, columns.stride, channels_, from, kernel_.weights.data(),
               kernel_.bias.data(), static_cast<size_t>(columns.out), to, finish);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
