// SPDX-License-Identifier: Apache-2.0
// GraphBuilder's functions of single elements.
#include "base/format.h"
#include "base/nth.h"
#include "import/builder.h"

namespace dvnn::import {

Result<int> GraphBuilder::binary(const std::string& name, kernels::Operation operation, int a,
                                 int b) {
  return cpu(name, layers::ElementwiseAttributes::of(operation), {a, b});
}

Result<int> GraphBuilder::unary(const std::string& name, kernels::Curve curve, int in, float a,
                                float b) {
  return cpu(name, layers::ElementwiseAttributes::of(curve, a, b), {in});
}

Result<int> GraphBuilder::combined(const std::string& name, kernels::Operation operation,
                                   std::vector<float> coefficients, std::vector<int> inputs) {
  using Layer = layers::ElementwiseAttributes;
  if (coefficients.empty()) coefficients.assign(inputs.size(), 1);
  if (inputs.empty() || coefficients.size() != inputs.size()) {
    return malformed(
        format("has %zu inputs and %zu coefficients", inputs.size(), coefficients.size()));
  }
  for (int value : inputs) {
    if (shape_of(value) == shape_of(inputs[0])) continue;
    return unsupported("inputs differ: " + shape_of(inputs[0]).to_string() + " and " +
                       shape_of(value).to_string());
  }
  // If there are too many inputs, the result of the first ones becomes one input in their place.
  while (inputs.size() > Layer::kMostInputs) {
    const auto values = inputs.begin() + Layer::kMostInputs;
    const auto factors = coefficients.begin() + Layer::kMostInputs;
    DVNN_ASSIGN(inputs.front(),
                combined(name + "_" + std::to_string(inputs.size()), operation,
                         {coefficients.begin(), factors}, {inputs.begin(), values}));
    coefficients.front() = 1;
    inputs.erase(inputs.begin() + 1, values);
    coefficients.erase(coefficients.begin() + 1, factors);
  }
  Layer layer;
  layer.inputs = static_cast<int>(inputs.size());
  int made = layer.inputs;  // index of the next step's result
  const auto add = [&](const Layer::Step& step) {
    layer.steps.push_back(step);
    return made++;
  };
  const auto term = [&](int i) {
    const float factor = nth(coefficients, i);
    return factor == 1 ? i : add(Layer::Step::of(kernels::Curve::kLine, factor, 0, i));
  };
  int result = term(0);
  for (int i = 1; i < layer.inputs; ++i) {
    const int next = term(i);
    result = add(Layer::Step::of(operation, result, next));
  }
  return layer.steps.empty() ? Result<int>(inputs[0]) : cpu(name, std::move(layer), inputs);
}

Result<int> GraphBuilder::scaled(const std::string& name, int in,
                                 const std::pair<float, float>& affine_of) {
  const Shape shape = shape_of(in);
  if (shape.rank >= 2) {
    const size_t channels = shape.channels();
    return affine(name, in, std::vector<float>(channels, affine_of.first),
                  std::vector<float>(channels, affine_of.second));
  }
  DVNN_ASSIGN(const int scale, constant(name + "_scale", {1}, {affine_of.first}));
  DVNN_ASSIGN(const int bias, constant(name + "_bias", {1}, {affine_of.second}));
  DVNN_ASSIGN(const int product, binary(name + "_product", kernels::Operation::kMul, in, scale));
  return binary(name, kernels::Operation::kAdd, product, bias);
}

}  // namespace dvnn::import
