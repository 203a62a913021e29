// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Permute final : public CpuLayer {
 public:
  Permute(const std::vector<int>& order, const TensorDesc& input, const TensorDesc& output)
      : reader_(input), writer_(output), shape_(output.shape) {
    int stride = 1;
    int in_stride[Shape::kMaxRank];
    for (int i = input.shape.rank - 1; i >= 0; --i) {
      in_stride[i] = stride;
      stride *= input.shape[i];
    }
    for (int i = 0; i < shape_.rank; ++i) strides_[i] = in_stride[order[static_cast<size_t>(i)]];
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    const int last = shape_.rank - 1;
    const int64_t rows = shape_.elements() / shape_[last];
    int index[Shape::kMaxRank] = {};
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = 0;
      for (int i = 0; i < last; ++i) at += int64_t{index[i]} * strides_[i];
      for (int k = 0; k < shape_[last]; ++k) *out++ = in[at + int64_t{k} * strides_[last]];
      for (int i = last - 1; i >= 0 && ++index[i] == shape_[i]; --i) index[i] = 0;
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  FloatReader reader_;
  FloatWriter writer_;
  Shape shape_;
  int strides_[Shape::kMaxRank] = {};  // of the output's axes, in the input
};

}  // namespace

DVNN_LAYER_FACTORY(create_permute_layer) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  JsonReader in(params, "Permute");
  const std::vector<int> order = in.integers("order", 0, from.rank - 1, Shape::kMaxRank);
  unsigned seen = 0;
  for (int axis : order) seen |= 1u << axis;
  if (static_cast<int>(order.size()) != from.rank || seen + 1 != 1u << from.rank) {
    in.fail("order", "must name each axis once");
  }
  DVNN_TRY(in.status());
  bool fits = to.rank == from.rank;
  for (int i = 0; fits && i < to.rank; ++i) fits = to[i] == from[order[static_cast<size_t>(i)]];
  if (!fits) {
    return Error{ErrorCode::kMalformed, "the output's shape " + to.to_string() +
                                            " is not the permuted " + from.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Permute(order, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
