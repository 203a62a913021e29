// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/float_io.h"
#include "layers/strides.h"

namespace dvnn::layers {
namespace {

class Permute final : public CpuLayer {
 public:
  Permute(const std::vector<int>& order, const TensorDesc& input, const TensorDesc& output)
      : reader_(input), writer_(output), shape_(output.shape) {
    const Strides own = strides_of(input.shape);
    for (size_t i = 0; i < order.size(); ++i) strides_[i] = nth(own, order[i]);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    walk(shape_, strides_, 0, [&](int64_t at) { *out++ = in[at]; });
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  FloatReader reader_;
  FloatWriter writer_;
  Shape shape_;
  Strides strides_ = {};  // of the output's axes, in the input
};

}  // namespace

Result<PermuteAttributes> PermuteAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  PermuteAttributes a;
  a.order = in.integers("order", 0, Shape::kMaxRank - 1, Shape::kMaxRank);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json PermuteAttributes::to_json() const {
  return {{"order", order}};
}

DimsResult PermuteAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  unsigned seen = 0;
  for (int axis : order) seen |= 1u << axis;
  if (static_cast<int>(order.size()) != shape.rank || seen + 1 != 1u << shape.rank) {
    return Error{ErrorCode::kUnsupported,
                 "the order does not name each axis of " + shape.to_string() + " once"};
  }
  std::vector<int64_t> dims;
  for (int axis : order) dims.push_back(shape[axis]);
  return dims;
}

LayerResult PermuteAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  DVNN_ASSIGN(const auto dims, dims_after({&from, 1}));
  if (dims != std::vector<int64_t>(to.dims, to.dims + to.rank)) {
    return Error{ErrorCode::kMalformed, "the output's shape " + to.to_string() +
                                            " is not the permuted " + from.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Permute(order, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
