// SPDX-License-Identifier: Apache-2.0
// Keras layers with weights, windows or functions.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/import.h"

namespace dvnn::import {
namespace {

using device::Activation;
using nlohmann::json;

double number_of(const json& value, double fallback) {
  return value.is_number() ? value.get<double>() : fallback;
}

bool flag_of(const json& value, bool fallback) {
  return value.is_boolean() ? value.get<bool>() : fallback;
}

Result<int> picture(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& in = layer.inputs[0];
  const Shape& shape = importer->builder.shape_of(in.value);
  if (!in.flat && shape.rank == 4) {
    const json& format_name = keras_option(layer.config, {"data_format", "dim_ordering"});
    if (format_name == "channels_first" || format_name == "th") {
      return Error{ErrorCode::kUnsupported, "channels_first is not supported (channels_last is)"};
    }
    return in.value;
  }
  return Error{ErrorCode::kUnsupported, "needs a picture, has " + shape.to_string()};
}

// "same": as many outputs as the input has strides; TensorFlow puts an odd pixel at the end.
void same_pads(int64_t size, int64_t window, int64_t stride, int64_t* before, int64_t* after) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride + window - size, 0);
  *before = total / 2;
  *after = total - *before;
}

Result<bool> is_same(const json& config) {
  const json& mode = keras_option(config, {"padding", "border_mode"});
  if (mode == "same") return true;
  if (mode == "valid" || mode == "causal" || mode.is_null()) return false;
  return Error{ErrorCode::kUnsupported, "padding " + shown(mode) + " is not supported"};
}

Status check_dims(const KerasLayer& layer, size_t index, const std::vector<int64_t>& dims) {
  if (index < layer.weights.size() && layer.weights[index].dims == dims) return {};
  std::string want;
  for (int64_t d : dims) want += (want.empty() ? "" : "x") + std::to_string(d);
  return Error{ErrorCode::kMalformed,
               format("weights %zu are missing, or not %s", index, want.c_str())};
}

// (y, x, in, out) -> (out, in, y, x)
std::vector<float> reordered(const Hdf5Array& array) {
  const size_t ky = static_cast<size_t>(array.dims[0]), kx = static_cast<size_t>(array.dims[1]);
  const size_t in = static_cast<size_t>(array.dims[2]), out = static_cast<size_t>(array.dims[3]);
  std::vector<float> weights(array.values.size());
  size_t from = 0;
  for (size_t yx = 0; yx < ky * kx; ++yx) {
    for (size_t i = 0; i < in; ++i) {
      for (size_t o = 0; o < out; ++o, ++from) {
        weights[(o * in + i) * ky * kx + yx] = array.values[from];
      }
    }
  }
  return weights;
}

// Kernel, strides, dilation and pads of a layer over a picture.
Result<ConvSpec> conv_spec(const KerasLayer& layer, const Shape& in,
                           const std::vector<int64_t>& kernel) {
  const json& config = layer.config;
  ConvSpec spec;
  DVNN_ASSIGN(const auto strides, keras_pair(keras_option(config, {"strides", "subsample"}), 1));
  DVNN_ASSIGN(const auto dilation,
              keras_pair(keras_option(config, {"dilation_rate", "atrous_rate"}), 1));
  DVNN_ASSIGN(const bool same, is_same(config));
  spec.kernel_y = kernel[0], spec.kernel_x = kernel[1];
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  spec.dilation_y = dilation[0], spec.dilation_x = dilation[1];
  if (std::min(strides[0], strides[1]) < 1 || std::min(dilation[0], dilation[1]) < 1) {
    return Error{ErrorCode::kMalformed, "a stride or a dilation is 0"};
  }
  if (keras_option(config, {"padding"}) == "causal") {  // of sequences: nothing from the future
    spec.left = (spec.kernel_x - 1) * spec.dilation_x;
  }
  if (same) {
    same_pads(in.w(), (spec.kernel_x - 1) * spec.dilation_x + 1, spec.stride_x, &spec.left,
              &spec.right);
    same_pads(in.h(), (spec.kernel_y - 1) * spec.dilation_y + 1, spec.stride_y, &spec.top,
              &spec.bottom);
  }
  return spec;
}

Result<std::vector<float>> bias_of(const KerasLayer& layer, size_t index, int64_t count) {
  if (!flag_of(keras_option(layer.config, {"use_bias", "bias"}), true)) return std::vector<float>();
  DVNN_TRY(check_dims(layer, index, {count}));
  return layer.weights[index].values;
}

Result<KerasTensor> activated(KerasImporter* importer, const KerasLayer& layer, int value) {
  DVNN_ASSIGN(const int out, keras_activation(importer, layer.name,
                                              keras_option(layer.config, {"activation"}), value));
  return KerasTensor{out, false};
}

Result<KerasTensor> conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4) {
    return Error{ErrorCode::kMalformed, "has no kernel of four dimensions"};
  }
  const Hdf5Array& kernel = layer.weights[0];
  DVNN_ASSIGN(ConvSpec spec, conv_spec(layer, shape, kernel.dims));
  spec.outputs = kernel.dims[3];
  spec.groups = kernel.dims[2] > 0 ? shape.c() / std::max<int64_t>(kernel.dims[2], 1) : 1;
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, spec.outputs));
  DVNN_ASSIGN(const int out, importer->builder.convolution(layer.name, in, spec, reordered(kernel),
                                                           std::move(bias)));
  return activated(importer, layer, out);
}

// (y, x, channels, multiplier): output channel * multiplier + k.
Result<int> depthwise(KerasImporter* importer, const KerasLayer& layer, const std::string& name,
                      int in, std::vector<float> bias) {
  const Shape shape = importer->builder.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4 ||
      layer.weights[0].dims[2] != shape.c()) {
    return Error{ErrorCode::kMalformed, "has no kernel per channel"};
  }
  const Hdf5Array& kernel = layer.weights[0];
  DVNN_ASSIGN(ConvSpec spec, conv_spec(layer, shape, kernel.dims));
  const size_t area = static_cast<size_t>(kernel.dims[0] * kernel.dims[1]);
  const size_t outputs = static_cast<size_t>(kernel.dims[2] * kernel.dims[3]);
  spec.outputs = static_cast<int64_t>(outputs);
  spec.groups = shape.c();
  std::vector<float> weights(kernel.values.size());
  for (size_t yx = 0; yx < area; ++yx) {
    for (size_t o = 0; o < outputs; ++o) weights[o * area + yx] = kernel.values[yx * outputs + o];
  }
  return importer->builder.convolution(name, in, spec, std::move(weights), std::move(bias));
}

Result<KerasTensor> depthwise_conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  int64_t outputs = 0;
  if (!layer.weights.empty() && layer.weights[0].dims.size() == 4) {
    outputs = layer.weights[0].dims[2] * layer.weights[0].dims[3];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, depthwise(importer, layer, layer.name, in, std::move(bias)));
  return activated(importer, layer, out);
}

Result<KerasTensor> separable_conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  DVNN_ASSIGN(const int middle, depthwise(importer, layer, layer.name + "_depthwise", in, {}));
  const int64_t channels = importer->builder.shape_of(middle).c();
  if (layer.weights.size() < 2 || layer.weights[1].dims.size() != 4) {
    return Error{ErrorCode::kMalformed, "has no pointwise kernel"};
  }
  ConvSpec spec;
  spec.outputs = layer.weights[1].dims[3];
  DVNN_TRY(check_dims(layer, 1, {1, 1, channels, spec.outputs}));
  DVNN_ASSIGN(auto bias, bias_of(layer, 2, spec.outputs));
  DVNN_ASSIGN(const int out,
              importer->builder.convolution(layer.name, middle, spec, reordered(layer.weights[1]),
                                            std::move(bias)));
  return activated(importer, layer, out);
}

Result<KerasTensor> conv2d_transpose(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4 ||
      layer.weights[0].dims[3] != shape.c()) {
    return Error{ErrorCode::kMalformed, "has no kernel (y, x, outputs, inputs)"};
  }
  const Hdf5Array& kernel = layer.weights[0];
  DVNN_ASSIGN(ConvSpec spec, conv_spec(layer, shape, kernel.dims));
  spec.outputs = kernel.dims[2];
  DVNN_ASSIGN(const bool same, is_same(layer.config));
  const json& padding = keras_option(layer.config, {"output_padding"});
  DVNN_ASSIGN(const auto added, keras_pair(padding, 0));
  // Keras makes size * stride outputs with "same", whole windows with "valid"; output_padding takes
  // pads of half the kernel with "same" and adds to what they leave. Source: Keras,
  // deconv_output_length(); TensorFlow takes the pads from the output's size.
  auto fit = [&](int64_t k, int64_t s, int64_t more, int64_t* before, int64_t* after) {
    int64_t cut = same ? k - s : std::min<int64_t>(k - s, 0);
    if (!padding.is_null()) cut = (same ? k / 2 * 2 : 0) - more;
    *before = std::max<int64_t>(cut, 0) / 2;
    *after = std::max<int64_t>(cut, 0) - *before;
    return std::max<int64_t>(-cut, 0);
  };
  const int64_t extra_x = fit(spec.kernel_x, spec.stride_x, added[1], &spec.left, &spec.right);
  const int64_t extra_y = fit(spec.kernel_y, spec.stride_y, added[0], &spec.top, &spec.bottom);
  // (y, x, out, in) -> (in, out, y, x)
  std::vector<float> weights = reordered(kernel);
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, spec.outputs));
  DVNN_ASSIGN(const int out, importer->builder.deconvolution(layer.name, in, spec, extra_x, extra_y,
                                                             weights, std::move(bias)));
  return activated(importer, layer, out);
}

Result<KerasTensor> dense(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& in = layer.inputs[0];
  const Shape shape = importer->builder.shape_of(in.value);
  if (!in.flat && shape.rank != 2) {
    return Error{ErrorCode::kUnsupported, "needs a vector, has " + shape.to_string()};
  }
  const int64_t inputs = shape.elements();
  if (layer.weights.empty() || layer.weights[0].dims.size() != 2) {
    return Error{ErrorCode::kMalformed, "has no matrix of weights"};
  }
  const int64_t outputs = layer.weights[0].dims[1];
  DVNN_TRY(check_dims(layer, 0, {inputs, outputs}));
  const Hdf5Array& matrix = layer.weights[0];
  std::vector<float> weights(matrix.values.size());
  const auto count = static_cast<size_t>(inputs), m = static_cast<size_t>(outputs);
  for (size_t i = 0; i < count; ++i) {
    size_t to = i;
    if (in.flat) {  // row i is that of (h, w, c); the graph's picture is c, h, w
      const size_t c = static_cast<size_t>(shape.c()), plane = count / c;
      to = i % c * plane + i / c;
    }
    for (size_t o = 0; o < m; ++o) weights[o * count + to] = matrix.values[i * m + o];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, importer->builder.inner_product(layer.name, in.value, outputs,
                                                             std::move(weights), std::move(bias)));
  return activated(importer, layer, out);
}

Result<KerasTensor> batch_norm(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const Shape shape = importer->builder.shape_of(in);
  if (shape.rank != 2 && shape.rank != 4) {
    return Error{ErrorCode::kUnsupported, "needs a picture or a vector, has " + shape.to_string()};
  }
  const auto channels = static_cast<size_t>(shape[1]);
  const bool scales = flag_of(keras_option(layer.config, {"scale"}), true);
  const bool centres = flag_of(keras_option(layer.config, {"center"}), true);
  const size_t first = (scales ? 1u : 0u) + (centres ? 1u : 0u);
  for (size_t i = 0; i < first + 2; ++i) DVNN_TRY(check_dims(layer, i, {shape[1]}));
  const double epsilon = number_of(keras_option(layer.config, {"epsilon"}), 1e-3);
  const std::vector<float>&mean = layer.weights[first].values,
        &variance = layer.weights[first + 1].values;
  std::vector<float> scale(channels), bias(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double v = double{variance[c]} + epsilon;
    if (!(v > 0)) {
      return Error{ErrorCode::kMalformed, format("variance of channel %zu is not positive", c)};
    }
    const double gamma = scales ? double{layer.weights[0].values[c]} : 1.0;
    const double beta = centres ? double{layer.weights[scales ? 1 : 0].values[c]} : 0.0;
    scale[c] = static_cast<float>(gamma / std::sqrt(v));
    bias[c] = static_cast<float>(beta - double{mean[c]} * gamma / std::sqrt(v));
  }
  DVNN_ASSIGN(const int out,
              importer->builder.affine(layer.name, in, std::move(scale), std::move(bias)));
  return KerasTensor{out, false};
}

Result<KerasTensor> pooling(KerasImporter* importer, const KerasLayer& layer, bool average) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  DVNN_ASSIGN(const auto window, keras_pair(keras_option(layer.config, {"pool_size"}), 2));
  const json& strides_option = keras_option(layer.config, {"strides"});
  std::vector<int64_t> strides = window;
  if (!strides_option.is_null()) {
    DVNN_ASSIGN(strides, keras_pair(strides_option, 1));
  }
  if (std::min({window[0], window[1], strides[0], strides[1]}) < 1) {
    return Error{ErrorCode::kMalformed, "a window or a stride is 0"};
  }
  DVNN_ASSIGN(const bool same, is_same(layer.config));
  PoolSpec spec;
  spec.average = average;
  spec.counts_pads = false;
  spec.kernel_y = window[0], spec.kernel_x = window[1];
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  if (same) {
    same_pads(shape.w(), spec.kernel_x, spec.stride_x, &spec.left, &spec.right);
    same_pads(shape.h(), spec.kernel_y, spec.stride_y, &spec.top, &spec.bottom);
  }
  DVNN_ASSIGN(const int out, importer->builder.pooling(layer.name, in, spec));
  return KerasTensor{out, false};
}

Result<KerasTensor> max_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, false);
}

Result<KerasTensor> average_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, true);
}

Result<KerasTensor> global_pooling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  const bool average = layer.class_name == "GlobalAveragePooling2D";
  const bool keeps = flag_of(keras_option(layer.config, {"keepdims"}), false);
  DVNN_ASSIGN(const int pooled, importer->builder.global_pooling(layer.name, in, average));
  if (keeps) return KerasTensor{pooled, false};
  DVNN_ASSIGN(const int out,
              importer->builder.reshape(layer.name + "_vector", pooled,
                                        {1, importer->builder.shape_of(pooled).c()}));
  return KerasTensor{out, false};
}

Result<KerasTensor> activation_layer(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  DVNN_ASSIGN(const int out, keras_activation(importer, layer.name,
                                              keras_option(layer.config, {"activation"}), in));
  return KerasTensor{out, false};
}

Result<KerasTensor> function_layer(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  GraphBuilder& b = importer->builder;
  const json& config = layer.config;
  const double alpha = number_of(keras_option(config, {"alpha", "negative_slope"}),
                                 layer.class_name == "ELU" ? 1 : 0.3);
  if (layer.class_name == "LeakyReLU") {
    DVNN_ASSIGN(const int out,
                b.activation(layer.name, in, Activation::kRelu, static_cast<float>(alpha)));
    return KerasTensor{out, false};
  }
  if (layer.class_name == "ELU") {
    if (alpha != 1) {
      return Error{ErrorCode::kUnsupported, "alpha is not 1, which is what the device does"};
    }
    DVNN_ASSIGN(const int out, b.activation(layer.name, in, Activation::kElu));
    return KerasTensor{out, false};
  }
  if (layer.class_name == "Softmax") {
    DVNN_ASSIGN(const int out, keras_activation(importer, layer.name, "softmax", in));
    return KerasTensor{out, false};
  }
  if (layer.class_name == "PReLU") {
    const Shape& shape = b.shape_of(in);
    if (layer.weights.empty() || layer.weights[0].values.size() != static_cast<size_t>(shape[1])) {
      return Error{ErrorCode::kUnsupported,
                   "only one slope per channel (shared_axes) is supported"};
    }
    DVNN_ASSIGN(const int out,
                b.activation(layer.name, in, Activation::kPrelu, 0, layer.weights[0].values));
    return KerasTensor{out, false};
  }
  // ReLU
  const json& most = keras_option(config, {"max_value"});
  const double slope = number_of(keras_option(config, {"negative_slope"}), 0);
  if (number_of(keras_option(config, {"threshold"}), 0) != 0) {
    return Error{ErrorCode::kUnsupported, "a threshold is not supported"};
  }
  const bool six = most.is_number() && most.get<double>() == 6 && slope == 0;
  if (!most.is_null() && !six) {
    return Error{ErrorCode::kUnsupported, "max_value " + shown(most) + ": 6 or none is supported"};
  }
  DVNN_ASSIGN(const int out,
              b.activation(layer.name, in, six ? Activation::kRelu6 : Activation::kRelu,
                           six ? 0.0f : static_cast<float>(slope)));
  return KerasTensor{out, false};
}

bool graph_has(const Graph& graph, const std::string& name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

// A number, or one for each of the last axis, which here is the channels'.
std::vector<float> per_channel(const nlohmann::json& numbers, size_t channels, float fallback) {
  if (numbers.is_number()) return std::vector<float>(channels, numbers.get<float>());
  std::vector<float> values;
  for (const nlohmann::json& n : numbers) values.push_back(n.is_number() ? n.get<float>() : 0.0f);
  if (values.size() == 1) values.resize(channels, values[0]);
  return values.empty() ? std::vector<float>(channels, fallback) : values;
}

Result<KerasTensor> rescaling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const Shape shape = importer->builder.shape_of(in);
  const auto channels = static_cast<size_t>(shape.rank > 1 ? shape[1] : 1);
  auto scale = per_channel(keras_option(layer.config, {"scale"}), channels, 1);
  auto offset = per_channel(keras_option(layer.config, {"offset"}), channels, 0);
  DVNN_ASSIGN(const int out,
              importer->builder.affine(layer.name, in, std::move(scale), std::move(offset)));
  return KerasTensor{out, false};
}

const std::map<std::string, KerasFunction>& math_layers() {
  static const std::map<std::string, KerasFunction> kLayers = {
      {"Activation", activation_layer},
      {"AveragePooling2D", average_pooling},
      {"BatchNormalization", batch_norm},
      {"BatchNormalizationV1", batch_norm},
      {"Conv2D", conv2d},
      {"Conv2DTranspose", conv2d_transpose},
      {"Convolution2D", conv2d},
      {"Deconvolution2D", conv2d_transpose},
      {"Dense", dense},
      {"DepthwiseConv2D", depthwise_conv2d},
      {"ELU", function_layer},
      {"GlobalAveragePooling2D", global_pooling},
      {"GlobalMaxPooling2D", global_pooling},
      {"LeakyReLU", function_layer},
      {"MaxPooling2D", max_pooling},
      {"PReLU", function_layer},
      {"ReLU", function_layer},
      {"Rescaling", rescaling},
      {"SeparableConv2D", separable_conv2d},
      {"SeparableConvolution2D", separable_conv2d},
      {"Softmax", function_layer},
  };
  return kLayers;
}

// A class that the user declared: its configuration holds the parameters.
Result<KerasTensor> import_declared(KerasImporter* importer, const KerasLayer& layer,
                                    const CustomLayer& declared) {
  std::vector<int> inputs;
  for (const KerasTensor& tensor : layer.inputs) {
    DVNN_ASSIGN(const int value, importer->plain(layer, tensor));
    inputs.push_back(value);
  }
  DVNN_ASSIGN(const int out, importer->builder.custom(layer.name, layer.class_name, declared,
                                                      layer.config, std::move(inputs)));
  return KerasTensor{out, false};
}

}  // namespace

Result<int> keras_activation(KerasImporter* importer, const std::string& name,
                             const nlohmann::json& activation, int in) {
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

Result<KerasTensor> import_keras_layer(KerasImporter* importer, const KerasLayer& layer) {
  const CustomLayers& custom = importer->options.custom_layers;
  // A Lambda's name alone says what it computes.
  for (const std::string& declared : {layer.name, layer.class_name}) {
    if (const auto it = custom.find(declared); it != custom.end()) {
      return import_declared(importer, layer, it->second);
    }
  }
  if (is_keras_1d(layer.class_name)) return import_keras_layer(importer, keras_1d_as_2d(layer));
  for (const auto* table : {&math_layers(), &keras_shape_layers()}) {
    if (const auto it = table->find(layer.class_name); it != table->end()) {
      return it->second(importer, layer);
    }
  }
  if (layer.class_name == "Lambda") {
    return Error{
        ErrorCode::kUnsupported,
        "what it computes is Python, which is not run here: declare it with --layer-types, "
        "as {\"" +
            layer.name + "\": {\"affine\": [1, 0]}} if it is x * 1 + 0"};
  }
  return Error{ErrorCode::kUnsupported,
               "the class is not supported (docs/converter.md lists those that are): cut the model "
               "before it with --outputs, or declare it with --layer-types"};
}

}  // namespace dvnn::import
