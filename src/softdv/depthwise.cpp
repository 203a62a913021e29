// SPDX-License-Identifier: Apache-2.0
#include "softdv/depthwise.h"

#include <algorithm>
#include <numeric>

#include "softdv/aligned_floats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/depthwise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A row of results of 8 channels: from[y] is the source row for the y-th row of taps, from the
// first tap of the first result on. `weights` and `bias` repeat over 16 floats, `weights` for each
// tap.
struct Row {
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
      auto a = hn::MulAdd(hn::LoadU(d, r0 + at), w0, bias);
      auto b = hn::Mul(hn::LoadU(d, r1 + at), w3);
      auto c = hn::Mul(hn::LoadU(d, r2 + at), w6);
      a = hn::MulAdd(hn::LoadU(d, r0 + at + 8), w1, a);
      b = hn::MulAdd(hn::LoadU(d, r1 + at + 8), w4, b);
      c = hn::MulAdd(hn::LoadU(d, r2 + at + 8), w7, c);
      a = hn::MulAdd(hn::LoadU(d, r0 + at + 16), w2, a);
      b = hn::MulAdd(hn::LoadU(d, r1 + at + 16), w5, b);
      c = hn::MulAdd(hn::LoadU(d, r2 + at + 16), w8, c);
      take(hn::Add(hn::Add(a, b), c), to);
    }
  }
}

// A row to floats or, if there is one, as `finish` says; its `slopes` repeat over 16 floats.
template <int kStride, class D>
HWY_INLINE void MakeRow(D d, const Row& row, float* HWY_RESTRICT to, const RegisterFinish* finish) {
  if (!finish) {
    ConvolveRow<kStride>(d, row, [=](auto sum, size_t i) HWY_ATTR { hn::StoreU(sum, d, to + i); });
    return;
  }
  const hn::Rebind<hwy::float16_t, D> dh;
  auto* const results = reinterpret_cast<hwy::float16_t*>(finish->to);
  const auto* const addend = reinterpret_cast<const hwy::float16_t*>(finish->addend);
  ConvolveRow<kStride>(d, row, [=](auto sum, size_t i) HWY_ATTR {
    if (addend) sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(dh, addend + i)));
    const auto slope =
        finish->slopes ? hn::LoadU(d, finish->slopes + i % 8) : hn::Set(d, finish->slope);
    Activate(d, finish->activation, slope, &sum, 1);
    hn::StoreU(hn::DemoteTo(dh, sum), dh, results + i);
  });
}

void DepthwiseRow(int stride, const float* const* from, const float* weights, const float* bias,
                  size_t pixels, float* to, const RegisterFinish* finish) {
  const Row row = {from, weights, bias, 8 * pixels};
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  if (stride == 2) return MakeRow<2>(chunk, row, to, finish);
  if (row.count < hn::Lanes(wide)) return MakeRow<1>(chunk, row, to, finish);
  MakeRow<1>(wide, row, to, finish);
}

// Pixels of fewer channels, one source pixel apart: weights and bias repeat over `pattern` floats,
// a multiple of 16.
void NarrowDepthwiseRow(size_t channels, size_t pattern, const float* const* from,
                        const float* weights, const float* bias, size_t pixels,
                        float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  size_t at = 0;  // within the pattern
  for (size_t i = 0; i < channels * pixels; i += hn::Lanes(d)) {
    auto sum = hn::Load(d, bias + at);
    const float* weight = weights + at;
    for (int y = 0; y < 3; ++y) {
      for (size_t x = 0; x < 3; ++x, weight += pattern) {
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
HWY_EXPORT(NarrowDepthwiseRow);

bool suits_axis(const ConvAxis& axis) {
  return axis.kernel == 3 && (axis.stride == 1 || axis.stride == 2) && axis.dilation == 1 &&
         axis.before >= 0;
}

// Floats over which a chunk's weights repeat: whole pixels, and whole vectors of 16.
size_t pattern_of(size_t channels) {
  return std::lcm(channels, size_t{16});
}

}  // namespace

bool Depthwise::suits(const ConvShape& shape) {
  // The last chunk's pixels are not a vector's part: only where they follow one another.
  const bool follow = shape.columns.stride == 1 || shape.out_channels % kChunk == 0;
  return shape.depthwise && shape.in_channels == shape.out_channels && follow &&
         suits_axis(shape.rows) && suits_axis(shape.columns);
}

Depthwise::Depthwise(const ConvShape& shape, const float* weights, const float* bias)
    : shape_(shape) {
  constexpr size_t kTaps = kRows * kRows;
  for (int c = 0; c < chunks(); ++c) {
    const auto count = static_cast<size_t>(channels(c));
    const size_t first = static_cast<size_t>(c) * kChunk, pattern = pattern_of(count);
    Kernel kernel;
    for (size_t k = 0; k < kTaps; ++k) {
      for (size_t i = 0; i < pattern; ++i) {
        kernel.weights.push_back(weights[(first + i % count) * kTaps + k]);
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
  constexpr size_t kBeyond = 32;
  stride_ = static_cast<size_t>(width) * kChunk + kBeyond;
  const size_t result = static_cast<size_t>(columns.out) * kChunk + kBeyond;
  static thread_local AlignedFloats buffer;
  zeros_ = buffer.room((kRows + 1) * stride_ + result);
  held_ = zeros_ + stride_;
  made_ = held_ + kRows * stride_;
  std::fill(zeros_, held_, 0.0f);
  const size_t first = static_cast<size_t>(columns.before) * channels_;
  const size_t last = first + static_cast<size_t>(columns.in) * channels_;
  for (int k = 0; k < kRows; ++k) {
    float* const row = held_ + static_cast<size_t>(k) * stride_;
    std::fill(row, row + first, 0.0f);
    std::fill(row + last, row + stride_, 0.0f);
    holds_[k] = -1;
  }
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
    rows.convolve(row, &finish);
    finish.to += row_results;
    if (finish.addend) finish.addend += row_results;
  }
}

// A row of the input as floats, after its zeros.
const float* Depthwise::Rows::input(int row) {
  const ConvAxis& columns = of_.shape_.columns;
  if (row < 0 || row >= of_.shape_.rows.in) return zeros_;
  const int place = row % kRows;
  float* const held = held_ + static_cast<size_t>(place) * stride_;
  if (holds_[place] != row) {
    const size_t count = static_cast<size_t>(columns.in) * channels_;
    half_to_float(chunk_ + static_cast<size_t>(row) * count,
                  held + static_cast<size_t>(columns.before) * channels_, count);
    holds_[place] = row;
  }
  return held;
}

float* Depthwise::Rows::convolve(int row, const RegisterFinish* finish) {
  const ConvAxis &rows = of_.shape_.rows, &columns = of_.shape_.columns;
  const float* from[kRows];
  for (int k = 0; k < kRows; ++k) from[k] = input(row * rows.stride - rows.before + k);
  const auto pixels = static_cast<size_t>(columns.out);
  const float *const weights = kernel_.weights.data(), *const bias = kernel_.bias.data();
  if (channels_ == kChunk) {
    HWY_DYNAMIC_DISPATCH(DepthwiseRow)(columns.stride, from, weights, bias, pixels, made_, finish);
  } else {
    HWY_DYNAMIC_DISPATCH(NarrowDepthwiseRow)
    (channels_, pattern_of(channels_), from, weights, bias, pixels, made_);
  }
  return made_;
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
