// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

// One function of one number and a parameter, applied to every element.
using Function = float (*)(float x, float parameter);

class Activation final : public CpuLayer {
 public:
  Activation(Function function, float parameter, const TensorDesc& input, const TensorDesc& output)
      : function_(function),
        parameter_(parameter),
        count_(static_cast<size_t>(input.shape.elements())),
        reader_(input),
        writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    for (size_t i = 0; i < count_; ++i) out[i] = function_(in[i], parameter_);
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  Function function_;
  float parameter_;
  size_t count_;
  FloatReader reader_;
  FloatWriter writer_;
};

// `parameter`: the JSON field's name, null if the function has none.
LayerResult create(Function function, const char* parameter, float fallback,
                   const nlohmann::json& params, Span<const TensorDesc> inputs,
                   Span<const TensorDesc> outputs) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  JsonReader in(params, "the parameters");
  const float value = parameter ? static_cast<float>(in.number(parameter, fallback)) : 0.0f;
  DVNN_TRY(in.status());
  return std::unique_ptr<CpuLayer>(new Activation(function, value, inputs[0], outputs[0]));
}

}  // namespace

DVNN_LAYER_FACTORY(create_relu_layer) {
  return create([](float x, float slope) { return x > 0 ? x : x * slope; }, "slope", 0, params,
                inputs, outputs);
}

DVNN_LAYER_FACTORY(create_sigmoid_layer) {
  return create([](float x, float) { return 1.0f / (1.0f + std::exp(-x)); }, nullptr, 0, params,
                inputs, outputs);
}

DVNN_LAYER_FACTORY(create_tanh_layer) {
  return create([](float x, float) { return std::tanh(x); }, nullptr, 0, params, inputs, outputs);
}

DVNN_LAYER_FACTORY(create_elu_layer) {
  return create([](float x, float alpha) { return x > 0 ? x : alpha * (std::exp(x) - 1.0f); },
                "alpha", 1, params, inputs, outputs);
}

}  // namespace dvnn::layers
