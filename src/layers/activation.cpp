// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/json.h"
#include "kernels/sigmoid.h"
#include "layers/element_spans.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

// Writes a function of each of `count` floats, which has a parameter; `out` may be `in`.
using Function = void (*)(const float* in, float* out, size_t count, float parameter);

void relu(const float* in, float* out, size_t count, float slope) {
  for (size_t i = 0; i < count; ++i) out[i] = in[i] > 0 ? in[i] : in[i] * slope;
}

void sigmoid(const float* in, float* out, size_t count, float) {
  kernels::sigmoid(in, out, count);
}

void tanh(const float* in, float* out, size_t count, float) {
  for (size_t i = 0; i < count; ++i) out[i] = std::tanh(in[i]);
}

void elu(const float* in, float* out, size_t count, float alpha) {
  for (size_t i = 0; i < count; ++i) out[i] = in[i] > 0 ? in[i] : alpha * (std::exp(in[i]) - 1.0f);
}

class Activation final : public CpuLayer {
 public:
  Activation(Function function, float parameter, const TensorDesc& input, const TensorDesc& output)
      : function_(function), parameter_(parameter), spans_({&input, 1}, output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [this](size_t, const float* in, float* out, size_t count) {
      function_(in, out, count, parameter_);
    });
    return {};
  }

 private:
  Function function_;
  float parameter_;
  ElementSpans spans_;
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
  return create(relu, "slope", 0, params, inputs, outputs);
}

DVNN_LAYER_FACTORY(create_sigmoid_layer) {
  return create(sigmoid, nullptr, 0, params, inputs, outputs);
}

DVNN_LAYER_FACTORY(create_tanh_layer) {
  return create(tanh, nullptr, 0, params, inputs, outputs);
}

DVNN_LAYER_FACTORY(create_elu_layer) {
  return create(elu, "alpha", 1, params, inputs, outputs);
}

}  // namespace dvnn::layers
