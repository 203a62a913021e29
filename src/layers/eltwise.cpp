// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "kernels/elementwise.h"
#include "layers/element_spans.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

using Operation = kernels::Combination;

class Eltwise final : public CpuLayer {
 public:
  Eltwise(Operation operation, std::vector<float> coeff, Span<const TensorDesc> inputs,
          const TensorDesc& output)
      : operation_(operation), coeff_(std::move(coeff)), spans_(inputs, output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [this](size_t k, const float* in, float* result, size_t count) {
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
  Operation operation_;
  std::vector<float> coeff_;
  ElementSpans spans_;
};

}  // namespace

DVNN_LAYER_FACTORY(create_eltwise_layer) {
  constexpr size_t kMaxInputs = 1024;
  DVNN_TRY(expect_arity(inputs, 1, kMaxInputs, outputs));
  for (const TensorDesc& input : inputs) DVNN_TRY(expect_same_elements(input, outputs[0]));
  JsonReader in(params, "Eltwise");
  const std::string name = in.text("operation", "sum");
  std::vector<float> coeff = in.numbers("coeff", kMaxInputs);
  Operation operation = Operation::kSum;
  if (name == "prod") operation = Operation::kProduct;
  if (name == "max") operation = Operation::kMax;
  if (name != "sum" && operation == Operation::kSum) {
    in.fail("operation", "'" + name + "' is not sum, prod or max");
  }
  if (!coeff.empty() && (coeff.size() != inputs.size() || operation != Operation::kSum)) {
    in.fail("coeff", "goes with 'sum' and needs one value per input");
  }
  DVNN_TRY(in.status());
  return std::unique_ptr<CpuLayer>(new Eltwise(operation, std::move(coeff), inputs, outputs[0]));
}

}  // namespace dvnn::layers
