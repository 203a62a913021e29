// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/float_io.h"
#include "tensor/tensor_json.h"

namespace dvnn::layers {
namespace {

class Reshape final : public CpuLayer {
 public:
  explicit Reshape(const TensorDesc& input) : reader_(input) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    // Tensors of different element sizes share no memory: the one is written while the other is
    // read.
    if (is_plain_float(outputs[0].desc) && inputs[0].desc.type != ElementType::kFloat32) {
      read_nchw(inputs[0], reinterpret_cast<float*>(outputs[0].data));
    } else {
      write_nchw(reader_.read(inputs[0]), outputs[0]);
    }
    return {};
  }

 private:
  FloatReader reader_;
};

}  // namespace

Result<ReshapeAttributes> ReshapeAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  ReshapeAttributes a;
  a.dims = in.integers("dims", -1, 1 << 28, Shape::kMaxRank);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json ReshapeAttributes::to_json() const {
  return {{"dims", dims}};
}

DimsResult ReshapeAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  std::vector<int64_t> result(dims.begin(), dims.end());
  int64_t known = 1, left = -1;
  for (size_t i = 0; i < result.size(); ++i) {
    const int axis = static_cast<int>(i);
    if (result[i] == 0) result[i] = axis < shape.rank ? shape[axis] : 1;
    if (result[i] < 0) left = axis;
    if (result[i] > 0 && (known *= result[i]) > kMaxTensorElements) break;
  }
  if (left >= 0 && known <= shape.elements() && shape.elements() % known == 0) {
    nth(result, left) = shape.elements() / known;
    known = shape.elements();
  }
  if (known == shape.elements()) return result;
  return Error{ErrorCode::kUnsupported, "does not hold the elements of " + shape.to_string()};
}

LayerResult ReshapeAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  return std::unique_ptr<CpuLayer>(new Reshape(inputs[0]));
}

}  // namespace dvnn::layers
