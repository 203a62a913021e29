// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes/windows.h"

#include <algorithm>

#include "base/format.h"
#include "base/numbers.h"
#include "base/share.h"
#include "kernels/windows/windows.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

// Returns the number of rows or columns that all results together read.
int64_t reach(int results, int stride, int kernel, int dilation) {
  return int64_t{results - 1} * stride + int64_t{kernel - 1} * dilation + 1;
}

// The input in the form that the taps read: with pads, with zeros between its pixels if the
// convolution is transposed, and with columns that are `stride_x` apart put side by side, so that
// adjacent results read adjacent floats.
class PaddedSource {
 public:
  PaddedSource(const ConvolutionParams& p, const float* in, const Shape& from, const Shape& to) {
    step_x_ = p.transposed ? 1 : p.stride_x;
    step_y_ = p.transposed ? 1 : p.stride_y;
    const int gap_x = p.transposed ? p.stride_x : 1, gap_y = p.transposed ? p.stride_y : 1;
    rows_ = reach(to.h(), step_y_, p.kernel_y, p.dilation_y);
    const int64_t columns = reach(to.w(), step_x_, p.kernel_x, p.dilation_x);
    phase_ = (columns + step_x_ - 1) / step_x_;
    const size_t count =
        static_cast<size_t>(from.c() * rows_ * phase_ * step_x_) + kernels::kConvolveSlack;
    data_ = Workspace::current().floats(count);
    std::fill(data_, data_ + count, 0.0f);
    for (int c = 0; c < from.c(); ++c) {
      for (int y = 0; y < from.h(); ++y, in += from.w()) {
        const int64_t row = int64_t{y} * gap_y + p.top;
        if (row >= rows_) continue;
        if (step_x_ == 1 && gap_x == 1) {
          const int64_t count = std::min<int64_t>(from.w(), columns - p.left);
          if (count > 0) std::copy(in, in + count, data_ + offset(c, row, p.left));
          continue;
        }
        for (int x = 0; x < from.w(); ++x) {
          const int64_t column = int64_t{x} * gap_x + p.left;
          if (column < columns) data_[offset(c, row, column)] = in[x];
        }
      }
    }
  }

  /// Returns the offset of the element that the first result of row 0 reads at that place; any
  /// other result's element is as far from it as the results are from each other.
  int64_t offset(int channel, int64_t row, int64_t column) const {
    return ((channel * rows_ + row) * step_x_ + column % step_x_) * phase_ + column / step_x_;
  }
  const float* row(int y) const { return data_ + int64_t{y} * step_y_ * step_x_ * phase_; }
  /// Returns whether the source of each row of `width` results begins at the end of the row before.
  bool rows_adjoin(int width) const { return step_x_ == 1 && step_y_ == 1 && phase_ == width; }

 private:
  int step_x_, step_y_;
  int64_t rows_, phase_;  // rows per channel, floats of one phase of a row
  float* data_;
};

constexpr int kBlock = static_cast<int>(kernels::kConvolveChannels);

// Packed weights: a group's channels are computed kBlock at a time, with a block's biases before
// its weights.
struct Blocks {
  Blocks(const ConvolutionParams& params, const Shape& in_shape, const Shape& out_shape)
      : groups(params.groups),
        outputs(out_shape.c() / params.groups),
        of_group((outputs + kBlock - 1) / kBlock),
        taps(static_cast<size_t>(in_shape.c() / params.groups) *
             static_cast<size_t>(params.kernel_x * params.kernel_y)) {}
  int of(int channel) const { return channel / outputs * of_group + channel % outputs / kBlock; }
  int all() const { return groups * of_group; }
  size_t floats() const { return (taps + 1) * kBlock; }  // of a block
  size_t begin(int block) const { return static_cast<size_t>(block) * floats(); }

  int groups, outputs, of_group;  // output channels and blocks, per group
  size_t taps;                    // per output channel
};

class Convolution final : public CpuLayer {
 public:
  Convolution(const ConvolutionParams& params, std::vector<float> packed, const TensorDesc& input,
              const TensorDesc& output)
      : params_(params),
        packed_(std::move(packed)),
        in_(input.shape),
        out_(output.shape),
        reader_(input),
        writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    convolve(params_, packed_.data(), reader_.read(inputs[0]), in_, out_,
             writer_.begin(outputs[0]));
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  ConvolutionParams params_;
  std::vector<float> packed_;
  Shape in_, out_;
  FloatReader reader_;
  FloatWriter writer_;
};

}  // namespace

std::vector<float> pack_convolution(const ConvolutionParams& params, const float* weights,
                                    const float* bias, const Shape& in_shape,
                                    const Shape& out_shape) {
  const Blocks blocks(params, in_shape, out_shape);
  std::vector<float> packed(blocks.begin(blocks.all()));
  for (int m = 0; m < out_shape.c(); ++m) {
    const int lane = m % blocks.outputs % kBlock;
    float* const to = &packed[blocks.begin(blocks.of(m))] + lane;
    to[0] = bias[m];
    for (size_t k = 0; k < blocks.taps; ++k) to[(k + 1) * kBlock] = *weights++;
  }
  return packed;
}

void convolve(const ConvolutionParams& params, const float* packed, const float* in,
              const Shape& in_shape, const Shape& out_shape, float* out) {
  constexpr int kLongRow = 256;  // results that a thread computes at once if rows adjoin
  const PaddedSource source(params, in, in_shape, out_shape);
  const Blocks blocks(params, in_shape, out_shape);
  const int channels = in_shape.c() / params.groups, area = params.kernel_x * params.kernel_y;
  const int plane = out_shape.h() * out_shape.w();
  // Offsets of a group's taps from its first channel, in floats of the workspace.
  auto* const offsets = reinterpret_cast<int64_t*>(Workspace::current().floats(2 * blocks.taps));
  int64_t* next = offsets;
  for (int c = 0; c < channels; ++c) {
    for (int k = 0; k < area; ++k) {
      *next++ = source.offset(c, int64_t{k / params.kernel_x} * params.dilation_y,
                              int64_t{k % params.kernel_x} * params.dilation_x);
    }
  }
  const bool adjoin = source.rows_adjoin(out_shape.w());
  const int width = adjoin ? kLongRow : out_shape.w(), rows = (plane + width - 1) / width;
  share(blocks.all() * rows, [&](int i) {
    const int block = i / rows, group = block / blocks.of_group, first = i % rows * width;
    const int channel = group * blocks.outputs + block % blocks.of_group * kBlock;
    const int count = std::min(kBlock, (group + 1) * blocks.outputs - channel);
    float* results[kBlock];
    for (int m = 0; m < count; ++m) results[m] = out + int64_t{channel + m} * plane + first;
    const float* const own = packed + blocks.begin(block);
    const float* const row = adjoin ? source.row(0) + first : source.row(i % rows);
    kernels::convolve_row(row + source.offset(group * channels, 0, 0), offsets, blocks.taps,
                          own + kBlock, own, static_cast<size_t>(count),
                          static_cast<size_t>(std::min(width, plane - first)), results);
  });
}

void ConvolutionAttributes::fields(Fields* f) {
  constexpr int kMaxKernel = 1024, kMaxStep = 65535;
  constexpr size_t kMaxWeights = size_t{1} << 24;
  f->integer("kernel_w", &params.kernel_x, 1, kMaxKernel);
  f->integer("kernel_h", &params.kernel_y, 1, kMaxKernel);
  f->integer("stride_w", &params.stride_x, 1, kMaxStep);
  f->integer("stride_h", &params.stride_y, 1, kMaxStep);
  f->integer("dilation_w", &params.dilation_x, 1, kMaxStep);
  f->integer("dilation_h", &params.dilation_y, 1, kMaxStep);
  f->integer("pad_left", &params.left, 0, kMaxStep);
  f->integer("pad_top", &params.top, 0, kMaxStep);
  f->integer("groups", &params.groups, 1, kMaxStep);
  f->boolean("transposed", &params.transposed);
  f->packed("weights", &weights, kMaxWeights);
  f->packed("bias", &bias, kMaxWeights);
}

// Planning creates this layer from the device's convolutions once all sizes are known.
DimsResult ConvolutionAttributes::dims_after(Span<const Shape>) const {
  return unsupported("a convolution on the CPU does not say how its size follows the input's");
}

Cost ConvolutionAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  Cost cost = one_look(in, out);
  if (!are_pictures(in, out)) return cost;
  const Shape &from = in[0].shape, &to = out[0].shape;
  const auto whole = [](int value) { return static_cast<uint64_t>(std::max(value, 1)); };
  const uint64_t channels = std::max<uint64_t>(whole(from.c()) / whole(params.groups), 1);
  const uint64_t area = saturating_product(whole(params.kernel_x), whole(params.kernel_y));
  const uint64_t taps = saturating_product(channels, area);
  // Weights and biases, for each group rounded up to whole blocks of channels.
  const uint64_t packed =
      saturating_sum(whole(to.c()), saturating_product(kBlock, whole(params.groups)));
  // The input with its pads and with the zeros between its pixels.
  const auto wide = [&](int results, int stride, int kernel, int dilation) {
    return saturating_sum(saturating_product(whole(results), whole(stride)),
                          saturating_product(whole(kernel), whole(dilation)));
  };
  const int step_x = params.transposed ? 1 : params.stride_x;
  const int step_y = params.transposed ? 1 : params.stride_y;
  const uint64_t rows = wide(to.h(), step_y, params.kernel_y, params.dilation_y);
  const uint64_t columns =
      saturating_sum(wide(to.w(), step_x, params.kernel_x, params.dilation_x),
                     saturating_product(whole(step_x), kernels::kConvolveSlack));
  const uint64_t padded = saturating_product(whole(from.c()), saturating_product(rows, columns));
  return cost.add_macs(saturating_product(elements_of(out), taps))
      .keep_floats(saturating_product(packed, saturating_sum(taps, 1)))
      .borrow_floats(padded)
      .borrow_floats(saturating_product(2, taps))  // offsets of 8 bytes
      .add_work(padded);
}

LayerResult ConvolutionAttributes::create(Span<const TensorDesc> inputs,
                                          Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  const bool pictures = from.rank == 4 && to.rank == 4 && from.n() == 1 && to.n() == 1;
  if (!pictures || from.c() % params.groups != 0 || to.c() % params.groups != 0) {
    return malformed(format("%d groups do not fit %s and %s", params.groups,
                            from.to_string().c_str(), to.to_string().c_str()));
  }
  const int64_t count =
      int64_t{to.c()} * (from.c() / params.groups) * params.kernel_x * params.kernel_y;
  if (static_cast<int64_t>(weights.size()) != count || bias.size() != to.channels()) {
    return malformed(format("%zu weights and %zu biases, %lld and %d are needed", weights.size(),
                            bias.size(), static_cast<long long>(count), to.c()));
  }
  // The input grows by zeros between its pixels; it must not take all of the machine's memory.
  constexpr int64_t kMostElements = int64_t{1} << 28;
  const int64_t wide = params.transposed ? int64_t{from.c()} * from.h() * params.stride_y : 0;
  if (wide > kMostElements || wide * from.w() > kMostElements / params.stride_x) {
    return too_large("the stride makes the input too large");
  }
  std::vector<float> packed = pack_convolution(params, weights.data(), bias.data(), from, to);
  return std::unique_ptr<CpuLayer>(
      new Convolution(params, std::move(packed), inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
