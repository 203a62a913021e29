// SPDX-License-Identifier: Apache-2.0
#include "layers/convolution.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

// Planes of rows of floats.
struct Planes {
  const float* data;
  int h, w;
  const float* row(int channel, int y) const { return data + (int64_t{channel} * h + y) * w; }
};

// stride - 1 zeros between the pixels: what a transposed convolution convolves.
std::vector<float> stretched(const float* in, const Shape& shape, int stride_x, int stride_y,
                             Planes* planes) {
  planes->h = (shape.h() - 1) * stride_y + 1;
  planes->w = (shape.w() - 1) * stride_x + 1;
  std::vector<float> out(static_cast<size_t>(int64_t{shape.c()} * planes->h * planes->w), 0.0f);
  const Planes from = {in, shape.h(), shape.w()};
  for (int c = 0; c < shape.c(); ++c) {
    for (int y = 0; y < shape.h(); ++y) {
      float* row = &out[static_cast<size_t>((int64_t{c} * planes->h + y * stride_y) * planes->w)];
      for (int x = 0; x < shape.w(); ++x) row[x * stride_x] = from.row(c, y)[x];
    }
  }
  planes->data = out.data();
  return out;
}

// Adds one kernel element's part of one plane to an output plane.
void add_tap(const ConvolutionParams& p, const Planes& in, int channel, int ky, int kx,
             float weight, const Shape& out_shape, float* out) {
  const int dy = ky * p.dilation_y - p.top, dx = kx * p.dilation_x - p.left;
  for (int y = 0; y < out_shape.h(); ++y) {
    const int64_t iy = int64_t{y} * p.stride_y + dy;
    if (iy < 0 || iy >= in.h) continue;
    const float* row = in.row(channel, static_cast<int>(iy));
    // The first and last x whose sample lies within the row.
    const int first = dx >= 0 ? 0 : (-dx + p.stride_x - 1) / p.stride_x;
    const int last =
        in.w - 1 - dx < 0 ? -1 : std::min(out_shape.w() - 1, (in.w - 1 - dx) / p.stride_x);
    float* to = out + int64_t{y} * out_shape.w();
    for (int x = first; x <= last; ++x) to[x] += weight * row[int64_t{x} * p.stride_x + dx];
  }
}

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
  ConvolutionParams p = params;
  Planes planes = {in, in_shape.h(), in_shape.w()};
  std::vector<float> wide;
  if (p.transposed) {
    wide = stretched(in, in_shape, p.stride_x, p.stride_y, &planes);
    p.stride_x = p.stride_y = 1;
  }
  const int channels = in_shape.c() / p.groups, outputs = out_shape.c() / p.groups;
  const int64_t area = int64_t{p.kernel_x} * p.kernel_y;
  const int64_t plane = int64_t{out_shape.h()} * out_shape.w();
  for (int m = 0; m < out_shape.c(); ++m) {
    float* to = out + m * plane;
    std::fill(to, to + plane, bias[m]);
    for (int c = 0; c < channels; ++c) {
      const float* kernel = weights + (int64_t{m} * channels + c) * area;
      for (int ky = 0; ky < p.kernel_y; ++ky) {
        for (int kx = 0; kx < p.kernel_x; ++kx) {
          const float weight = kernel[ky * p.kernel_x + kx];
          if (weight == 0) continue;
          add_tap(p, planes, m / outputs * channels + c, ky, kx, weight, out_shape, to);
        }
      }
    }
  }
}

Result<ConvolutionAttributes> ConvolutionAttributes::parse(const nlohmann::json& params) {
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

nlohmann::json ConvolutionAttributes::to_json() const {
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
