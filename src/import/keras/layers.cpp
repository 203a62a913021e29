// SPDX-License-Identifier: Apache-2.0
// Keras layers with weights or windows.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

using device::Activation;
bool flag_of(const Json& value, bool fallback) {
  return value.is_boolean() ? value.get<bool>() : fallback;
}

Result<int> picture(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& in = layer.inputs[0];
  const Shape& shape = importer->builder.shape_of(in.value);
  if (!in.flat && shape.rank == 4) {
    const Json& format_name = keras_option(layer.config, {"data_format", "dim_ordering"});
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

Result<bool> is_same(const Json& config) {
  const Json& mode = keras_option(config, {"padding", "border_mode"});
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
  const size_t ky = array.extent(0), kx = array.extent(1);
  const size_t in = array.extent(2), out = array.extent(3);
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
  const Json& config = layer.config;
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

}  // namespace

Result<KerasTensor> import_conv2d(KerasImporter* importer, const KerasLayer& layer) {
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

namespace {

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
  const size_t area = kernel.extent(0) * kernel.extent(1);
  const size_t outputs = kernel.extent(2) * kernel.extent(3);
  spec.outputs = static_cast<int64_t>(outputs);
  spec.groups = shape.c();
  std::vector<float> weights(kernel.values.size());
  for (size_t yx = 0; yx < area; ++yx) {
    for (size_t o = 0; o < outputs; ++o) weights[o * area + yx] = kernel.values[yx * outputs + o];
  }
  return importer->builder.convolution(name, in, spec, std::move(weights), std::move(bias));
}

}  // namespace

Result<KerasTensor> import_depthwise_conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  int64_t outputs = 0;
  if (!layer.weights.empty() && layer.weights[0].dims.size() == 4) {
    outputs = layer.weights[0].dims[2] * layer.weights[0].dims[3];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, depthwise(importer, layer, layer.name, in, std::move(bias)));
  return activated(importer, layer, out);
}

Result<KerasTensor> import_separable_conv2d(KerasImporter* importer, const KerasLayer& layer) {
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

Result<KerasTensor> import_conv2d_transpose(KerasImporter* importer, const KerasLayer& layer) {
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
  const Json& padding = keras_option(layer.config, {"output_padding"});
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

Result<KerasTensor> import_dense(KerasImporter* importer, const KerasLayer& layer) {
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
  const size_t count = shape.count(), m = matrix.extent(1);
  for (size_t i = 0; i < count; ++i) {
    size_t to = i;
    if (in.flat) {  // row i is that of (h, w, c); the graph's picture is c, h, w
      const size_t c = shape.channels(), plane = count / c;
      to = i % c * plane + i / c;
    }
    for (size_t o = 0; o < m; ++o) weights[o * count + to] = matrix.values[i * m + o];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, importer->builder.inner_product(layer.name, in.value, outputs,
                                                             std::move(weights), std::move(bias)));
  return activated(importer, layer, out);
}

Result<int> keras_axis(const KerasLayer& layer, const Shape& shape) {
  const Json& option = keras_option(layer.config, {"axis"});
  const Json& number = option.is_array() && option.size() == 1 ? option[0] : option;
  if (number.is_null()) return 1;
  const int64_t given = number.is_number_integer() ? number.get<int64_t>() : 0;
  const int64_t axis = given < 0 ? given + shape.rank : given;
  const bool row = shape.rank == 4 && shape.h() == 1;
  if (axis >= 1 && axis < shape.rank && !(row && axis < 3)) {
    static constexpr int kPicture[] = {0, 2, 3, 1};  // (n, h, w, c) as the graph has them
    return shape.rank == 4 ? kPicture[axis] : static_cast<int>(axis);
  }
  return Error{ErrorCode::kUnsupported, format("axis %s is not supported; -1, the channels, is",
                                               number.dump_as_given(-1, true).c_str())};
}

Result<KerasTensor> import_batch_norm(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  const Shape shape = importer->builder.shape_of(in);
  if (shape.rank != 2 && shape.rank != 4) {
    return Error{ErrorCode::kUnsupported, "needs a picture or a vector, has " + shape.to_string()};
  }
  DVNN_ASSIGN(const int axis, keras_axis(layer, shape));
  if (axis != 1) {
    return Error{ErrorCode::kUnsupported, "normalises rows or columns; channels are supported"};
  }
  const size_t channels = shape.channels();
  const bool scales = flag_of(keras_option(layer.config, {"scale"}), true);
  const bool centres = flag_of(keras_option(layer.config, {"center"}), true);
  const size_t first = (scales ? 1u : 0u) + (centres ? 1u : 0u);
  for (size_t i = 0; i < first + 2; ++i) DVNN_TRY(check_dims(layer, i, {shape[1]}));
  const double epsilon = keras_number(keras_option(layer.config, {"epsilon"}), 1e-3);
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

namespace {

Result<KerasTensor> pooling(KerasImporter* importer, const KerasLayer& layer, bool average) {
  DVNN_ASSIGN(const int in, picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  DVNN_ASSIGN(const auto window, keras_pair(keras_option(layer.config, {"pool_size"}), 2));
  const Json& strides_option = keras_option(layer.config, {"strides"});
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

}  // namespace

Result<KerasTensor> import_max_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, false);
}

Result<KerasTensor> import_average_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, true);
}

Result<KerasTensor> import_global_pooling(KerasImporter* importer, const KerasLayer& layer) {
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

}  // namespace dvnn::import
