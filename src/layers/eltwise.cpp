// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

enum class Operation { kSum, kProduct, kMax };

class Eltwise final : public CpuLayer {
 public:
  Eltwise(Operation operation, std::vector<float> coeff, Span<const TensorDesc> inputs,
          const TensorDesc& output)
      : operation_(operation),
        coeff_(std::move(coeff)),
        writer_(output),
        count_(static_cast<size_t>(output.shape.elements())) {
    for (const TensorDesc& in : inputs) readers_.emplace_back(in);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    // The result has memory of its own: the output may share memory with a later input.
    float* const result = Workspace::current().floats(count_);
    for (size_t k = 0; k < inputs.size(); ++k) add(k, readers_[k].read(inputs[k]), result);
    std::copy(result, result + count_, writer_.begin(outputs[0]));
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  void add(size_t k, const float* in, float* result) const {
    const float coeff = coeff_.empty() ? 1.0f : coeff_[k];
    for (size_t i = 0; i < count_; ++i) {
      const float v = coeff * in[i];
      float& r = result[i];
      if (k == 0) {
        r = v;
      } else if (operation_ == Operation::kSum) {
        r += v;
      } else if (operation_ == Operation::kProduct) {
        r *= v;
      } else {
        r = std::max(r, v);
      }
    }
  }

  Operation operation_;
  std::vector<float> coeff_;
  std::vector<FloatReader> readers_;
  FloatWriter writer_;
  size_t count_;
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
