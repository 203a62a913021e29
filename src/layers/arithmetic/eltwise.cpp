// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "kernels/elementwise.h"
#include "layers/spans.h"

namespace dvnn::layers {
namespace {

constexpr size_t kMaxInputs = 1024;
constexpr const char* kEltwiseOperations[] = {"sum", "prod", "max"};  // in the enum's order

class Eltwise final : public CpuLayer {
 public:
  Eltwise(EltwiseOperation operation, std::vector<float> coeff, Span<const TensorDesc> inputs,
          const TensorDesc& output)
      : operation_(operation), coeff_(std::move(coeff)), spans_(inputs, output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.fold(inputs, outputs[0], [this](size_t k, const float* in, float* result, size_t count) {
      const float coeff = coeff_.empty() ? 1.0f : coeff_[k];
      if (k == 0) {
        kernels::scale(in, coeff, result, count);
      } else {
        kernels::combine(operation_, in, coeff, result, count);
      }
    });
    return {};
  }

 private:
  EltwiseOperation operation_;
  std::vector<float> coeff_;
  Spans spans_;
};

}  // namespace

Result<EltwiseAttributes> EltwiseAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  EltwiseAttributes a;
  const auto operation =
      parse_name<EltwiseOperation>(in.text("operation", "sum"), kEltwiseOperations, "operation");
  if (!operation.ok()) in.fail("operation", operation.error().message);
  a.coeff = in.numbers("coeff", kMaxInputs);
  DVNN_TRY(in.status());
  a.operation = operation.value();
  return a;
}

Json EltwiseAttributes::to_json() const {
  Json out = {{"operation", nth(kEltwiseOperations, operation)}};
  if (!coeff.empty()) out["coeff"] = coeff;
  return out;
}

DimsResult EltwiseAttributes::dims_after(Span<const Shape> inputs) const {
  for (const Shape& shape : inputs) {
    if (shape == inputs[0]) continue;
    return Error{ErrorCode::kUnsupported,
                 "inputs differ: " + inputs[0].to_string() + " and " + shape.to_string()};
  }
  return same_dims(inputs);
}

Cost EltwiseAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out);
}

LayerResult EltwiseAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, kMaxInputs, outputs));
  for (const TensorDesc& input : inputs) DVNN_TRY(expect_same_elements(input, outputs[0]));
  if (!coeff.empty() && (coeff.size() != inputs.size() || operation != EltwiseOperation::kSum)) {
    return Error{ErrorCode::kMalformed,
                 "field 'coeff' goes with 'sum' and needs one value per input"};
  }
  return std::unique_ptr<CpuLayer>(new Eltwise(operation, coeff, inputs, outputs[0]));
}

}  // namespace dvnn::layers
