// SPDX-License-Identifier: Apache-2.0
#include "layers/windows/convolution.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/share.h"
#include "kernels/convolve.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

// Rows or columns that all results together read.
int64_t reach(int results, int stride, int kernel, int dilation) {
  return int64_t{results - 1} * stride + int64_t{kernel - 1} * dilation + 1;
}

// The input as the taps read it: with its pads, with zeros between its pixels if it is stretched,
// and with columns that are `stride_x` apart side by side, so that neighbouring results read
// neighbouring floats.
class PaddedSource {
 public:
  PaddedSource(const ConvolutionParams& p, const float* in, const Shape& from, const Shape& to) {
    step_x_ = p.transposed ? 1 : p.stride_x;
    step_y_ = p.transposed ? 1 : p.stride_y;
    const int gap_x = p.transposed ? p.stride_x : 1, gap_y = p.transposed ? p.stride_y : 1;
    rows_ = reach(to.h(), step_y_, p.kernel_y, p.dilation_y);
    const int64_t columns = reach(to.w(), step_x_, p.kernel_x, p.dilation_x);
    phase_ = (columns + step_x_ - 1) / step_x_ + static_cast<int64_t>(kernels::kConvolveSlack);
    const auto count = static_cast<size_t>(from.c() * rows_ * phase_ * step_x_);
    data_ = Workspace::current().floats(count);
    std::fill(data_, data_ + count, 0.0f);
    for (int c = 0; c < from.c(); ++c) {
      for (int y = 0; y < from.h(); ++y, in += from.w()) {
        const int64_t row = int64_t{y} * gap_y + p.top;
        if (row >= rows_) continue;
        for (int x = 0; x < from.w(); ++x) {
          const int64_t column = int64_t{x} * gap_x + p.left;
          if (column < columns) data_[offset(c, row, column)] = in[x];
        }
      }
    }
  }

  /// Returns the offset of what the first result of row 0 reads at that place; other results read
  /// as far from it as they are from the first.
  int64_t offset(int channel, int64_t row, int64_t column) const {
    return ((channel * rows_ + row) * step_x_ + column % step_x_) * phase_ + column / step_x_;
  }
  const float* row(int y) const { return data_ + int64_t{y} * step_y_ * step_x_ * phase_; }

 private:
  int step_x_, step_y_;
  int64_t rows_, phase_;  // rows of a channel, floats of a phase of a row
  float* data_;
};

class Convolution final : public CpuLayer {
 public:
  Convolution(const ConvolutionParams& params, std::vector<float> weights, std::vector<float> bias,
              const TensorDesc& input, const TensorDesc& output)
      : params_(params),
        weights_(std::move(weights)),
        bias_(std::move(bias)),
        in_(input.shape),
        out_(output.shape),
        reader_(input),
        writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    convolve(params_, weights_.data(), bias_.data(), reader_.read(inputs[0]), in_, out_,
             writer_.begin(outputs[0]));
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  ConvolutionParams params_;
  std::vector<float> weights_, bias_;
  Shape in_, out_;
  FloatReader reader_;
  FloatWriter writer_;
};

}  // namespace

void convolve(const ConvolutionParams& params, const float* weights, const float* bias,
              const float* in, const Shape& in_shape, const Shape& out_shape, float* out) {
  constexpr int kBlock = static_cast<int>(kernels::kConvolveChannels);
  const PaddedSource source(params, in, in_shape, out_shape);
  const int channels = in_shape.c() / params.groups, outputs = out_shape.c() / params.groups;
  const int area = params.kernel_x * params.kernel_y;
  const auto taps = static_cast<size_t>(channels) * static_cast<size_t>(area);
  const int64_t plane = int64_t{out_shape.h()} * out_shape.w();
  const int blocks = (outputs + kBlock - 1) / kBlock;
  // The offsets of a group's taps from its first channel. The workspace's memory suits any number.
  auto* const offsets = reinterpret_cast<int64_t*>(Workspace::current().floats(2 * taps));
  int64_t* next = offsets;
  for (int c = 0; c < channels; ++c) {
    for (int k = 0; k < area; ++k) {
      *next++ = source.offset(c, int64_t{k / params.kernel_x} * params.dilation_y,
                              int64_t{k % params.kernel_x} * params.dilation_x);
    }
  }
  const size_t packed_floats = static_cast<size_t>(params.groups * blocks) * (taps + 1) * kBlock;
  float* const packed = Workspace::current().floats(packed_floats);
  std::fill(packed, packed + packed_floats, 0.0f);
  for (int m = 0; m < out_shape.c(); ++m) {
    const int block = m / outputs * blocks + m % outputs / kBlock, lane = m % outputs % kBlock;
    float* const to = &packed[static_cast<size_t>(block) * (taps + 1) * kBlock];
    to[lane] = bias[m];
    for (size_t k = 0; k < taps; ++k) {
      to[(k + 1) * kBlock + static_cast<size_t>(lane)] = weights[static_cast<size_t>(m) * taps + k];
    }
  }
  share(params.groups * blocks * out_shape.h(), [&](int i) {
    const int y = i % out_shape.h(), block = i / out_shape.h(), group = block / blocks;
    const int first = group * outputs + block % blocks * kBlock;
    const int count = std::min(kBlock, (group + 1) * outputs - first);
    float* rows[kBlock];
    for (int m = 0; m < count; ++m)
      rows[m] = out + (first + m) * plane + int64_t{y} * out_shape.w();
    const float* const block_weights = &packed[static_cast<size_t>(block) * (taps + 1) * kBlock];
    kernels::convolve_row(source.row(y) + source.offset(group * channels, 0, 0), offsets, taps,
                          block_weights + kBlock, block_weights, static_cast<size_t>(count),
                          static_cast<size_t>(out_shape.w()), rows);
  });
}

Result<ConvolutionAttributes> ConvolutionAttributes::parse(const Json& params) {
  constexpr int kMaxKernel = 1024, kMaxStep = 65535;
  constexpr size_t kMaxWeights = size_t{1} << 24;
  JsonReader in(params, kName);
  auto number = [&](const char* name, int least, int most, int fallback) {
    return static_cast<int>(in.integer(name, least, most, fallback));
  };
  ConvolutionAttributes a;
  ConvolutionParams& p = a.params;
  p.kernel_x = number("kernel_w", 1, kMaxKernel, 1);
  p.kernel_y = number("kernel_h", 1, kMaxKernel, 1);
  p.stride_x = number("stride_w", 1, kMaxStep, 1);
  p.stride_y = number("stride_h", 1, kMaxStep, 1);
  p.dilation_x = number("dilation_w", 1, kMaxStep, 1);
  p.dilation_y = number("dilation_h", 1, kMaxStep, 1);
  p.left = number("pad_left", 0, kMaxStep, 0);
  p.top = number("pad_top", 0, kMaxStep, 0);
  p.groups = number("groups", 1, kMaxStep, 1);
  p.transposed = in.boolean("transposed", false);
  a.weights = in.numbers("weights", kMaxWeights);
  a.bias = in.numbers("bias", kMaxWeights);
  DVNN_TRY(in.status());
  return a;
}

Json ConvolutionAttributes::to_json() const {
  return {{"kernel_w", params.kernel_x},
          {"kernel_h", params.kernel_y},
          {"stride_w", params.stride_x},
          {"stride_h", params.stride_y},
          {"dilation_w", params.dilation_x},
          {"dilation_h", params.dilation_y},
          {"pad_left", params.left},
          {"pad_top", params.top},
          {"groups", params.groups},
          {"transposed", params.transposed},
          {"weights", weights},
          {"bias", bias}};
}

// Planning makes these of the device's convolutions once all sizes are known.
DimsResult ConvolutionAttributes::dims_after(Span<const Shape>) const {
  return Error{ErrorCode::kUnsupported,
               "a convolution on the CPU does not say how its size follows the input's"};
}

LayerResult ConvolutionAttributes::create(Span<const TensorDesc> inputs,
                                          Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  const bool pictures = from.rank == 4 && to.rank == 4 && from.n() == 1 && to.n() == 1;
  if (!pictures || from.c() % params.groups != 0 || to.c() % params.groups != 0) {
    return Error{ErrorCode::kMalformed, format("%d groups do not fit %s and %s", params.groups,
                                               from.to_string().c_str(), to.to_string().c_str())};
  }
  const int64_t count =
      int64_t{to.c()} * (from.c() / params.groups) * params.kernel_x * params.kernel_y;
  if (static_cast<int64_t>(weights.size()) != count || bias.size() != static_cast<size_t>(to.c())) {
    return Error{ErrorCode::kMalformed,
                 format("%zu weights and %zu biases, %lld and %d are needed", weights.size(),
                        bias.size(), static_cast<long long>(count), to.c())};
  }
  // The input grows by zeros between its pixels; it must not take all of the machine's memory.
  constexpr int64_t kMostElements = int64_t{1} << 28;
  const int64_t wide = params.transposed ? int64_t{from.c()} * from.h() * params.stride_y : 0;
  if (wide > kMostElements || wide * from.w() > kMostElements / params.stride_x) {
    return Error{ErrorCode::kLimit, "the stride makes the input too large"};
  }
  return std::unique_ptr<CpuLayer>(new Convolution(params, weights, bias, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
