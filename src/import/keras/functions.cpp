// SPDX-License-Identifier: Apache-2.0
// Keras layers that apply a function to each element.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

using device::Activation;
bool graph_has(const Graph& graph, const std::string& name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

// A number, or one for each of the last axis, which here is the channels'.
std::vector<float> per_channel(const Json& numbers, size_t channels, float fallback) {
  if (numbers.is_number()) return std::vector<float>(channels, numbers.get<float>());
  std::vector<float> values;
  for (const Json& n : numbers) values.push_back(n.is_number() ? n.get<float>() : 0.0f);
  if (values.size() == 1) values.resize(channels, values[0]);
  return values.empty() ? std::vector<float>(channels, fallback) : values;
}

}  // namespace

Result<KerasTensor> import_activation(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  DVNN_ASSIGN(const int out, keras_activation(importer, layer.name,
                                              keras_option(layer.config, {"activation"}), in));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_leaky_relu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const double slope = keras_number(keras_option(layer.config, {"alpha", "negative_slope"}), 0.3);
  DVNN_ASSIGN(const int out, importer->builder.activation(layer.name, in, Activation::kRelu,
                                                          static_cast<float>(slope)));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_elu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  if (keras_number(keras_option(layer.config, {"alpha", "negative_slope"}), 1) != 1) {
    return Error{ErrorCode::kUnsupported, "alpha is not 1, which is what the device does"};
  }
  DVNN_ASSIGN(const int out, importer->builder.activation(layer.name, in, Activation::kElu));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_softmax(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  DVNN_ASSIGN(const int axis, keras_axis(layer, importer->builder.shape_of(in)));
  DVNN_ASSIGN(const int out, importer->builder.softmax(layer.name, in, axis));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_prelu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  GraphBuilder& b = importer->builder;
  const Shape& shape = b.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].values.size() != shape.channels()) {
    return Error{ErrorCode::kUnsupported, "only one slope per channel (shared_axes) is supported"};
  }
  DVNN_ASSIGN(const int out,
              b.activation(layer.name, in, Activation::kPrelu, 0, layer.weights[0].values));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_relu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const Json& config = layer.config;
  const Json& most = keras_option(config, {"max_value"});
  const double slope = keras_number(keras_option(config, {"negative_slope"}), 0);
  if (keras_number(keras_option(config, {"threshold"}), 0) != 0) {
    return Error{ErrorCode::kUnsupported, "a threshold is not supported"};
  }
  const bool six = most.is_number() && most.get<double>() == 6 && slope == 0;
  if (!most.is_null() && !six) {
    return Error{ErrorCode::kUnsupported, "max_value " + shown(most) + ": 6 or none is supported"};
  }
  DVNN_ASSIGN(const int out, importer->builder.activation(
                                 layer.name, in, six ? Activation::kRelu6 : Activation::kRelu,
                                 six ? 0.0f : static_cast<float>(slope)));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_rescaling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const Shape shape = importer->builder.shape_of(in);
  const size_t channels = shape.rank > 1 ? shape.channels() : 1;
  auto scale = per_channel(keras_option(layer.config, {"scale"}), channels, 1);
  auto offset = per_channel(keras_option(layer.config, {"offset"}), channels, 0);
  DVNN_ASSIGN(const int out,
              importer->builder.affine(layer.name, in, std::move(scale), std::move(offset)));
  return KerasTensor{out, false};
}

Result<int> keras_activation(KerasImporter* importer, const std::string& name,
                             const Json& activation, int in) {
  using layers::UnaryFunction;
  GraphBuilder& b = importer->builder;
  if (activation.is_null() || activation == "linear") return in;
  // A layer's own function has a name of its own.
  const std::string own = graph_has(b.graph, name) ? name + "_activation" : name;
  if (activation == "relu") return b.activation(own, in, Activation::kRelu);
  if (activation == "relu6") return b.activation(own, in, Activation::kRelu6);
  if (activation == "elu") return b.activation(own, in, Activation::kElu);
  if (activation == "sigmoid") return b.activation(own, in, Activation::kSigmoid);
  if (activation == "tanh") return b.activation(own, in, Activation::kTanh);
  if (activation == "hard_sigmoid") return b.unary(own, {UnaryFunction::kHardSigmoid, {}, {}}, in);
  if (activation == "exponential") return b.unary(own, {UnaryFunction::kExp, {}, {}}, in);
  if (activation == "softplus") return b.unary(own, {UnaryFunction::kSoftplus, {}, {}}, in);
  if (activation == "softmax") return b.softmax(own, in, b.shape_of(in).rank == 4 ? 1 : -1);
  if (activation == "swish" || activation == "silu") {
    DVNN_ASSIGN(const int gate, b.activation(own + "_gate", in, Activation::kSigmoid));
    return b.cpu(own, layers::EltwiseAttributes{layers::EltwiseOperation::kProduct, {}},
                 {in, gate});
  }
  return Error{ErrorCode::kUnsupported, "activation " + shown(activation) + " is not supported"};
}

}  // namespace dvnn::import
