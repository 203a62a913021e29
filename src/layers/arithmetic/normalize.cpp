// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/format.h"
#include "base/share.h"
#include "kernels/arithmetic/elementwise.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/blocks.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

constexpr size_t kMostPixels = PixelBlocks::kMostCount;

// Normalises pixels whose channels lie `stride` apart.
struct Lengths {
  float eps;
  std::vector<float> scale;
  size_t channels;

  // Adds the squares of all channels to `eps`, which keeps lengths above 0.
  void measure(const float* in, size_t stride, size_t count, float* norm) const {
    alignas(64) float squares[kMostPixels];
    std::fill(norm, norm + count, eps);
    for (size_t c = 0; c < channels; ++c, in += stride) {
      kernels::operate(kernels::Operation::kMul, in, in, squares, count);
      kernels::operate(kernels::Operation::kAdd, norm, squares, norm, count);
    }
  }

  // Divides by the square roots of `norm`.
  void divide(const float* in, size_t stride, size_t count, float* norm, float* out) const {
    kernels::apply(kernels::Curve::kSqrt, 0, 0, norm, norm, count);
    kernels::apply(kernels::Curve::kReciprocal, 0, 0, norm, norm, count);
    for (size_t c = 0; c < channels; ++c, in += stride, out += stride) {
      kernels::operate(kernels::Operation::kMul, in, norm, out, count);
      kernels::scale(out, scale.size() == 1 ? scale[0] : scale[c], out, count);
    }
  }
};

// Divides each pixel by its own length.
class NormalizePixels final : public CpuLayer {
 public:
  NormalizePixels(Lengths lengths, const PixelBlocks& blocks)
      : lengths_(std::move(lengths)), blocks_(blocks) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    blocks_.run(inputs[0], outputs[0], [this](const PixelBlocks::Lines& lines) {
      alignas(64) float norm[kMostPixels];
      lengths_.measure(lines.first, lines.count, lines.count, norm);
      lengths_.divide(lines.first, lines.count, lines.count, norm, lines.first);
    });
    return {};
  }

 private:
  Lengths lengths_;
  PixelBlocks blocks_;
};

// Normalises floats, in place if the tensors are row-major, by pixels or whole pictures.
class Normalize final : public CpuLayer {
 public:
  Normalize(bool across_spatial, Lengths lengths, const TensorDesc& input, const TensorDesc& output)
      : across_spatial_(across_spatial),
        lengths_(std::move(lengths)),
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

  // Calls f(first, count) for blocks of pixels; threads share them.
  template <typename F>
  void share_pixels(F f) const {
    const size_t plane = channels_.inner;
    share(static_cast<int>((plane + kBlock - 1) / kBlock), [&](int i) {
      const size_t first = static_cast<size_t>(i) * kBlock;
      f(first, std::min(kBlock, plane - first));
    });
  }

  void normalise(const float* in, float* out) {
    const size_t plane = channels_.inner;
    share_pixels([&](size_t first, size_t count) {
      lengths_.measure(in + first, plane, count, &norm_[first]);
    });
    if (across_spatial_) {
      const float eps = lengths_.eps;
      double sum = eps;
      for (float v : norm_) sum += static_cast<double>(v) - eps;
      std::fill(norm_.begin(), norm_.end(), static_cast<float>(sum));
    }
    share_pixels([&](size_t first, size_t count) {
      lengths_.divide(in + first, plane, count, &norm_[first], out + first);
    });
  }

  bool across_spatial_;
  Lengths lengths_;
  AxisSplit channels_;
  FloatReader reader_;
  FloatWriter writer_;
  std::vector<float> norm_;
};

}  // namespace

void NormalizeAttributes::fields(Fields* f) {
  constexpr size_t kMaxScales = 1 << 16;
  f->boolean("across_spatial", &across_spatial);
  f->boolean("channel_shared", &channel_shared);
  f->number("eps", &eps);
  f->numbers("scale", &scale, kMaxScales);
}

DimsResult NormalizeAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost NormalizeAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out)
      .keep_floats(elements_of(out))  // the lengths of pixels
      .borrow_floats(PixelBlocks::borrowed(in, out, 1, false));
}

LayerResult NormalizeAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  if (inputs[0].shape.rank < 2) return malformed("the input has no channels");
  const size_t wanted = channel_shared ? 1 : static_cast<size_t>(inputs[0].shape[1]);
  if (scale.size() != wanted) {
    return malformed(format("field 'scale' has %zu values, needs %zu", scale.size(), wanted));
  }
  const AxisSplit split = split_at(inputs[0].shape, 1);
  Lengths lengths = {eps, scale, split.count};
  const bool floats = is_plain_float(inputs[0]) && is_plain_float(outputs[0]);
  if (!across_spatial && !floats && split.inner > 1) {
    const auto blocks = PixelBlocks::make(inputs[0], outputs[0], 1, split.count);
    if (blocks && blocks->in_order()) {
      return std::unique_ptr<CpuLayer>(new NormalizePixels(std::move(lengths), *blocks));
    }
  }
  return std::unique_ptr<CpuLayer>(
      new Normalize(across_spatial, std::move(lengths), inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
