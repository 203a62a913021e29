// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/share.h"
#include "kernels/curves.h"
#include "kernels/elementwise.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Normalize final : public CpuLayer {
 public:
  Normalize(bool across_spatial, float eps, std::vector<float> scale, const TensorDesc& input,
            const TensorDesc& output)
      : across_spatial_(across_spatial),
        eps_(eps),
        scale_(std::move(scale)),
        channels_(split_at(input.shape, 1)),
        reader_(input),
        writer_(output),
        norm_(channels_.inner) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    const size_t picture = channels_.count * channels_.inner;
    for (size_t n = 0; n < channels_.outer; ++n) {
      normalise(in + n * picture, out + n * picture);
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  static constexpr size_t kBlock = 512;  // pixels

  // Calls f(first, count) for blocks of pixels, which threads share.
  template <typename F>
  void share_pixels(F f) const {
    const size_t plane = channels_.inner;
    share(static_cast<int>((plane + kBlock - 1) / kBlock), [&](int i) {
      const size_t first = static_cast<size_t>(i) * kBlock;
      f(first, std::min(kBlock, plane - first));
    });
  }

  void normalise(const float* in, float* out) {
    share_pixels([&](size_t first, size_t count) { measure(in + first, &norm_[first], count); });
    if (across_spatial_) {
      double sum = eps_;
      for (float v : norm_) sum += static_cast<double>(v) - eps_;
      std::fill(norm_.begin(), norm_.end(), static_cast<float>(sum));
    }
    share_pixels([&](size_t first, size_t count) {
      float* const norm = &norm_[first];
      kernels::apply(kernels::Curve::kSqrt, 0, 0, norm, norm, count);
      kernels::apply(kernels::Curve::kReciprocal, 0, 0, norm, norm, count);
      for (size_t c = 0; c < channels_.count; ++c) {
        const size_t at = c * channels_.inner + first;
        kernels::operate(kernels::Operation::kMul, in + at, norm, out + at, count);
        kernels::scale(out + at, scale_.size() == 1 ? scale_[0] : scale_[c], out + at, count);
      }
    });
  }

  // The squares of all channels, after the least that a length may be.
  void measure(const float* in, float* norm, size_t count) const {
    alignas(64) float squares[kBlock];
    std::fill(norm, norm + count, eps_);
    for (size_t c = 0; c < channels_.count; ++c, in += channels_.inner) {
      kernels::operate(kernels::Operation::kMul, in, in, squares, count);
      kernels::operate(kernels::Operation::kAdd, norm, squares, norm, count);
    }
  }

  bool across_spatial_;
  float eps_;
  std::vector<float> scale_;
  AxisSplit channels_;
  FloatReader reader_;
  FloatWriter writer_;
  std::vector<float> norm_;
};

}  // namespace

Result<NormalizeAttributes> NormalizeAttributes::parse(const Json& params) {
  constexpr size_t kMaxScales = 1 << 16;
  JsonReader in(params, kName);
  NormalizeAttributes a;
  a.across_spatial = in.boolean("across_spatial", true);
  a.channel_shared = in.boolean("channel_shared", true);
  a.eps = static_cast<float>(in.number("eps", 1e-10));
  a.scale = in.numbers("scale", kMaxScales);
  DVNN_TRY(in.status());
  return a;
}

Json NormalizeAttributes::to_json() const {
  return {{"across_spatial", across_spatial},
          {"channel_shared", channel_shared},
          {"eps", eps},
          {"scale", scale}};
}

DimsResult NormalizeAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

LayerResult NormalizeAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  if (inputs[0].shape.rank < 2) {
    return Error{ErrorCode::kMalformed, "the input has no channels"};
  }
  const size_t wanted = channel_shared ? 1 : static_cast<size_t>(inputs[0].shape[1]);
  if (scale.size() != wanted) {
    return Error{ErrorCode::kMalformed,
                 format("field 'scale' has %zu values, needs %zu", scale.size(), wanted)};
  }
  return std::unique_ptr<CpuLayer>(
      new Normalize(across_spatial, eps, scale, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
