// SPDX-License-Identifier: Apache-2.0
// Keras layers that apply a function to each element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

using device::Activation;
using kernels::Curve;

bool graph_has(const Graph& graph, const std::string& name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

constexpr float kLowest = std::numeric_limits<float>::lowest();

}  // namespace

Result<KerasTensor> import_activation(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const Json& function = keras_option(layer.config, {"activation"});
  DVNN_ASSIGN(const int out, keras_activation(importer, layer.name, function, in.value));
  return in.with(out);
}

Result<KerasTensor> import_leaky_relu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const double slope = keras_number(keras_option(layer.config, {"alpha", "negative_slope"}), 0.3);
  DVNN_ASSIGN(const int out, importer->builder.activation(layer.name, in.value, Activation::kRelu,
                                                          static_cast<float>(slope)));
  return in.with(out);
}

Result<KerasTensor> import_elu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const double alpha = keras_number(keras_option(layer.config, {"alpha", "negative_slope"}), 1);
  GraphBuilder& b = importer->builder;
  int out = -1;
  if (alpha == 1) {
    DVNN_ASSIGN(out, b.activation(layer.name, in.value, Activation::kElu));
  } else {
    DVNN_ASSIGN(out, b.unary(layer.name, Curve::kElu, in.value, static_cast<float>(alpha)));
  }
  return in.with(out);
}

Result<KerasTensor> import_softmax(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  DVNN_ASSIGN(const int axis, keras_axis(*importer, layer, in));
  DVNN_ASSIGN(const int out, importer->builder.softmax(layer.name, in.value, axis));
  return in.with(out);
}

namespace {

// Returns the slopes as a tensor that broadcasts to the input. Keras' dimensions, without the
// batch, are the input's or 1.
Result<int> slopes_beside(KerasImporter* importer, const KerasLayer& layer, const KerasTensor& in) {
  const Hdf5Array& slopes = layer.weights[0];
  const size_t axes = slopes.dims.size();
  std::vector<int64_t> dims(importer->builder.shape_of(in.value).axes(), 1);
  for (size_t i = 0; i < axes; ++i) {
    dims[static_cast<size_t>(importer->graph_axis(in, static_cast<int>(i) + 1))] = slopes.dims[i];
  }
  std::vector<float> values = slopes.values;
  if (dims.size() == 4) {  // channels first: (h, w, c) is (c, h, w), and of a sequence h is 1
    for (size_t i = 0; i < values.size(); ++i) {
      values[channels_first(i, slopes.extent(axes - 1), values.size())] = slopes.values[i];
    }
  }
  return importer->builder.constant(layer.name + "_slopes", dims, std::move(values));
}

}  // namespace

Result<KerasTensor> import_prelu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  GraphBuilder& b = importer->builder;
  const Shape shape = b.shape_of(in.value);
  const int rank = importer->rank(in);
  if (layer.weights.empty()) return malformed("has no slopes");
  const Hdf5Array& slopes = layer.weights[0];
  bool fits = static_cast<int>(slopes.dims.size()) == rank - 1, per_channel = true;
  for (int axis = 1; fits && axis < rank; ++axis) {
    const int64_t have = slopes.dims[static_cast<size_t>(axis) - 1];
    const int place = importer->graph_axis(in, axis);
    fits = have == shape[place] || have == 1;
    per_channel &= have == 1 || place == 1;
  }
  if (!fits) {
    return malformed("its slopes are " + joined(slopes.dims, "x") + ", which does not fit " +
                     shape.to_string());
  }
  if (per_channel) {
    DVNN_ASSIGN(const int out,
                b.activation(layer.name, in.value, Activation::kPrelu, 0, slopes.values));
    return in.with(out);
  }
  DVNN_ASSIGN(const int factors, slopes_beside(importer, layer, in));
  DVNN_ASSIGN(const int above, b.activation(layer.name + "_above", in.value, Activation::kRelu));
  DVNN_ASSIGN(const int below,
              b.unary(layer.name + "_below", Curve::kClip, in.value, kLowest, 0.0f));
  DVNN_ASSIGN(const int scaled,
              b.binary(layer.name + "_scaled", kernels::Operation::kMul, below, factors));
  DVNN_ASSIGN(const int out, b.sum(layer.name, above, scaled));
  return in.with(out);
}

// Imports ReLU: max_value if x is at least that, x from the threshold on, and negative_slope (x -
// threshold) below. Source: Keras' documentation of ReLU.
Result<KerasTensor> import_relu(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const Json& most = keras_option(layer.config, {"max_value"});
  const auto slope =
      static_cast<float>(keras_number(keras_option(layer.config, {"negative_slope"}), 0));
  const auto threshold =
      static_cast<float>(keras_number(keras_option(layer.config, {"threshold"}), 0));
  const auto bound =
      static_cast<float>(keras_number(most, double{std::numeric_limits<float>::max()}));
  if ((!most.is_null() && !most.is_number()) || bound < 0 || slope < 0 || threshold < 0) {
    return unsupported("max_value, negative_slope and threshold must be numbers, and not negative");
  }
  if (threshold != 0 && slope != 0) {
    return unsupported("a threshold beside a negative_slope is not supported");
  }
  GraphBuilder& b = importer->builder;
  const bool bounded = most.is_number();
  if (threshold == 0 && slope == 0 && bounded && bound != 6) {
    DVNN_ASSIGN(const int out, b.unary(layer.name, Curve::kClip, in.value, 0.0f, bound));
    return in.with(out);
  }
  if (threshold == 0 && slope == 0) {
    DVNN_ASSIGN(const int out, b.activation(layer.name, in.value,
                                            bounded ? Activation::kRelu6 : Activation::kRelu));
    return in.with(out);
  }
  const std::string name = bounded ? layer.name + "_unbounded" : layer.name;
  int out = -1;
  if (threshold == 0) {
    DVNN_ASSIGN(out, b.activation(name, in.value, Activation::kRelu, slope));
  } else {
    // ONNX' ThresholdedRelu is 0 at its threshold, Keras' ReLU is not.
    const float below = std::nextafter(threshold, kLowest);
    DVNN_ASSIGN(out, b.unary(name, Curve::kThresholdedRelu, in.value, below));
  }
  if (!bounded) return in.with(out);
  DVNN_ASSIGN(out, b.unary(layer.name, Curve::kClip, out, kLowest, bound));
  return in.with(out);
}

namespace {

struct NamedFunction {
  const char* name;
  Curve curve;
  float a, b;
};

// Functions of the device are in keras_activation().
const NamedFunction kFunctions[] = {
    {"exponential", Curve::kExp, 0, 0},     {"softplus", Curve::kSoftplus, 0, 0},
    {"softsign", Curve::kSoftsign, 0, 0},   {"selu", Curve::kSelu, 1.67326324f, 1.05070098f},
    {"gelu", Curve::kGelu, 0, 0},           {"mish", Curve::kMish, 0, 0},
    {"hard_silu", Curve::kHardSwish, 0, 0}, {"hard_swish", Curve::kHardSwish, 0, 0}};

}  // namespace

Result<int> keras_activation(KerasImporter* importer, const std::string& name,
                             const Json& activation, int in) {
  GraphBuilder& b = importer->builder;
  if (activation.is_null() || activation == "linear") return in;
  // A layer's own function has a name of its own.
  const std::string own = graph_has(b.graph, name) ? name + "_activation" : name;
  if (activation == "relu") return b.activation(own, in, Activation::kRelu);
  if (activation == "relu6") return b.activation(own, in, Activation::kRelu6);
  if (activation == "elu") return b.activation(own, in, Activation::kElu);
  if (activation == "sigmoid") return b.activation(own, in, Activation::kSigmoid);
  if (activation == "tanh") return b.activation(own, in, Activation::kTanh);
  if (activation == "leaky_relu") return b.activation(own, in, Activation::kRelu, 0.2f);
  if (activation == "hard_sigmoid") {  // Keras 3 has another slope than those before
    return b.unary(own, Curve::kHardSigmoid, in, importer->version >= 3 ? 1.0f / 6 : 0.2f, 0.5f);
  }
  for (const NamedFunction& known : kFunctions) {
    if (activation == known.name) return b.unary(own, known.curve, in, known.a, known.b);
  }
  if (activation == "softmax") return b.softmax(own, in, b.shape_of(in).rank == 4 ? 1 : -1);
  if (activation == "swish" || activation == "silu") {
    DVNN_ASSIGN(const int gate, b.activation(own + "_gate", in, Activation::kSigmoid));
    return b.binary(own, kernels::Operation::kMul, in, gate);
  }
  return unsupported("activation " + shown(activation) + " is not supported");
}

}  // namespace dvnn::import
