// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/share.h"
#include "kernels/arithmetic/softmax.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/blocks.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

// Softmax along an axis with others behind it, such as channels.
class SoftmaxOfPixels final : public CpuLayer {
 public:
  SoftmaxOfPixels(PixelBlocks blocks, size_t channels) : blocks_(blocks), channels_(channels) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    blocks_.run(inputs[0], outputs[0], [this](const PixelBlocks::Lines& lines) {
      kernels::softmax_columns(lines.first, channels_, lines.count);
    });
    return {};
  }

 private:
  PixelBlocks blocks_;
  size_t channels_;
};

// Softmax along rows, or along any axis of tensors whose layout has no blocks along it.
class Softmax final : public CpuLayer {
 public:
  Softmax(int axis, const TensorDesc& input, const TensorDesc& output)
      : split_(split_at(input.shape, axis)), reader_(input), writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    // Number of floats of a task: rows, or groups of columns.
    constexpr size_t kTaskFloats = 1 << 14;
    const size_t group = split_.count * split_.inner;
    const size_t some = std::max<size_t>(1, kTaskFloats / group);
    share(static_cast<int>((split_.outer + some - 1) / some), [&](int i) {
      const size_t first = static_cast<size_t>(i) * some;
      const size_t rows = std::min(some, split_.outer - first);
      float* const to = out + first * group;
      if (in != out) std::memcpy(to, in + first * group, rows * group * sizeof(float));
      kernels::softmax(to, rows, split_.count, split_.inner);
    });
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  AxisSplit split_;
  FloatReader reader_;
  FloatWriter writer_;
};

}  // namespace

void SoftmaxAttributes::fields(Fields* f) {
  int given = axis.value_or(-1);
  f->integer("axis", &given, 0, Shape::kMaxRank - 1, axis.has_value());
  if (given >= 0) axis = given;
}

DimsResult SoftmaxAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  DVNN_TRY(axis_in(inputs[0], axis));
  return same_dims(inputs);
}

Cost SoftmaxAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  const int along = axis ? *axis : 1;
  return one_look(in, out).borrow_floats(PixelBlocks::borrowed(in, out, along, false));
}

LayerResult SoftmaxAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  DVNN_ASSIGN(const int along, axis_in(inputs[0].shape, axis));
  const AxisSplit split = split_at(inputs[0].shape, along);
  const auto blocks = PixelBlocks::make(inputs[0], outputs[0], along, split.count);
  if (blocks && split.inner > 1) {
    return std::unique_ptr<CpuLayer>(new SoftmaxOfPixels(*blocks, split.count));
  }
  return std::unique_ptr<CpuLayer>(new Softmax(along, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
