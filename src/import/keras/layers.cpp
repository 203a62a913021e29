// SPDX-License-Identifier: Apache-2.0
// Keras layers with kernels or matrices.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

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

// Transposes weights of (y, x, in, out) from (out, in, y, x) to (in, out, y, x).
std::vector<float> turned(const std::vector<float>& weights, const Hdf5Array& array) {
  const size_t area = array.extent(0) * array.extent(1);
  const size_t in = array.extent(2), out = array.extent(3);
  std::vector<float> result(weights.size());
  for (size_t o = 0; o < out; ++o) {
    for (size_t i = 0; i < in; ++i) {
      for (size_t k = 0; k < area; ++k) {
        result[(i * out + o) * area + k] = weights[(o * in + i) * area + k];
      }
    }
  }
  return result;
}

// Checks a number in the architecture against the weights: if they differ, one of the two belongs
// to another model.
Status check_said(const KerasLayer& layer, const char* name, int64_t has) {
  const Json& said = keras_option(layer.config, {name});
  if (said.is_null() || said == has) return {};
  return malformed(std::string(name) + " is " + shown(said) + ", and its weights are made for " +
                   std::to_string(has));
}

// Returns kernel, strides, dilation and pads of a layer over a picture.
Result<ConvSpec> conv_spec(const KerasLayer& layer, const Shape& in,
                           const std::vector<int64_t>& kernel) {
  const Json& config = layer.config;
  ConvSpec spec;
  DVNN_ASSIGN(const auto strides, keras_pair(keras_option(config, {"strides", "subsample"}), 1));
  DVNN_ASSIGN(const auto dilation,
              keras_pair(keras_option(config, {"dilation_rate", "atrous_rate"}), 1));
  DVNN_ASSIGN(const bool same, keras_is_same(config));
  spec.kernel_y = kernel[0], spec.kernel_x = kernel[1];
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  spec.dilation_y = dilation[0], spec.dilation_x = dilation[1];
  if (std::min(strides[0], strides[1]) < 1 || std::min(dilation[0], dilation[1]) < 1) {
    return malformed("a stride or a dilation is 0");
  }
  const Json& size = keras_option(config, {"kernel_size"});
  const auto is_it = [&](const Json& y, const Json& x) { return y == kernel[0] && x == kernel[1]; };
  const bool pair = size.is_array() && size.size() == 2;
  if (!size.is_null() && !(pair ? is_it(size[0], size[1]) : is_it(size, size))) {
    return malformed(format("kernel_size is not that of its weights, %lld and %lld",
                            static_cast<long long>(kernel[0]), static_cast<long long>(kernel[1])));
  }
  if (keras_option(config, {"padding"}) == "causal") {  // for sequences: no later elements
    spec.left = (spec.kernel_x - 1) * spec.dilation_x;
  }
  if (same) {
    keras_same_pads(in.w(), (spec.kernel_x - 1) * spec.dilation_x + 1, spec.stride_x, &spec.left,
                    &spec.right);
    keras_same_pads(in.h(), (spec.kernel_y - 1) * spec.dilation_y + 1, spec.stride_y, &spec.top,
                    &spec.bottom);
  }
  return spec;
}

Result<std::vector<float>> bias_of(const KerasLayer& layer, size_t index, int64_t count) {
  if (!keras_flag(keras_option(layer.config, {"use_bias", "bias"}), true))
    return std::vector<float>();
  DVNN_TRY(keras_check_weights(layer, index, {count}));
  return layer.weights[index].values;
}

Result<KerasTensor> activated(KerasImporter* importer, const KerasLayer& layer,
                              const KerasTensor& in) {
  DVNN_ASSIGN(
      const int out,
      keras_activation(importer, layer.name, keras_option(layer.config, {"activation"}), in.value));
  return in.with(out);
}

}  // namespace

Status keras_check_weights(const KerasLayer& layer, size_t index,
                           const std::vector<int64_t>& dims) {
  if (index < layer.weights.size() && layer.weights[index].dims == dims) return {};
  return malformed(format("weights %zu are missing, or not %s", index, joined(dims, "x").c_str()));
}

Result<KerasTensor> import_conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4) {
    return malformed("has no kernel of four dimensions");
  }
  const Hdf5Array& kernel = layer.weights[0];
  DVNN_ASSIGN(ConvSpec spec, conv_spec(layer, shape, kernel.dims));
  spec.outputs = kernel.dims[3];
  spec.groups = kernel.dims[2] > 0 ? shape.c() / std::max<int64_t>(kernel.dims[2], 1) : 1;
  DVNN_TRY(check_said(layer, "filters", spec.outputs));
  if (spec.groups * kernel.dims[2] == shape.c()) {
    DVNN_TRY(check_said(layer, "groups", spec.groups));
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, spec.outputs));
  DVNN_ASSIGN(const int out, importer->builder.convolution(layer.name, in, spec, reordered(kernel),
                                                           std::move(bias)));
  return activated(importer, layer, KerasTensor{out, false, false});
}

namespace {

// Imports weights (y, x, channels, multiplier) of output channels c * multiplier + k.
Result<int> depthwise(KerasImporter* importer, const KerasLayer& layer, const std::string& name,
                      int in, std::vector<float> bias) {
  const Shape shape = importer->builder.shape_of(in);
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4 ||
      layer.weights[0].dims[2] != shape.c()) {
    return malformed("has no kernel per channel");
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
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  int64_t outputs = 0;
  if (!layer.weights.empty() && layer.weights[0].dims.size() == 4) {
    outputs = layer.weights[0].dims[2] * layer.weights[0].dims[3];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, depthwise(importer, layer, layer.name, in, std::move(bias)));
  return activated(importer, layer, KerasTensor{out, false, false});
}

Result<KerasTensor> import_separable_conv2d(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  DVNN_ASSIGN(const int middle, depthwise(importer, layer, layer.name + "_depthwise", in, {}));
  const int64_t channels = importer->builder.shape_of(middle).c();
  if (layer.weights.size() < 2 || layer.weights[1].dims.size() != 4) {
    return malformed("has no pointwise kernel");
  }
  ConvSpec spec;
  spec.outputs = layer.weights[1].dims[3];
  DVNN_TRY(keras_check_weights(layer, 1, {1, 1, channels, spec.outputs}));
  DVNN_ASSIGN(auto bias, bias_of(layer, 2, spec.outputs));
  DVNN_ASSIGN(const int out,
              importer->builder.convolution(layer.name, middle, spec, reordered(layer.weights[1]),
                                            std::move(bias)));
  return activated(importer, layer, KerasTensor{out, false, false});
}

namespace {

// Returns the size of a transposed convolution's result. Keras makes size * stride with "same",
// whole windows with "valid"; with output_padding, "same" has pads of half the window, and
// output_padding is added to the result; in Keras 1 the size is given. Source: Keras,
// deconv_output_length().
Result<std::vector<int64_t>> transposed_sides(const KerasLayer& layer, const Shape& in,
                                              const ConvSpec& spec, bool same) {
  const int64_t sides[] = {in.h(), in.w()}, strides[] = {spec.stride_y, spec.stride_x};
  const int64_t windows[] = {(spec.kernel_y - 1) * spec.dilation_y + 1,
                             (spec.kernel_x - 1) * spec.dilation_x + 1};
  const Json& given = keras_option(layer.config, {"output_shape"});
  const Json& padding = keras_option(layer.config, {"output_padding"});
  DVNN_ASSIGN(const auto added, keras_pair(padding, 0));
  std::vector<int64_t> result;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t window = windows[i], least = (sides[i] - 1) * strides[i] + 1;
    int64_t side = same ? sides[i] * strides[i]
                        : sides[i] * strides[i] + std::max<int64_t>(window - strides[i], 0);
    if (!padding.is_null()) side = least - 1 + window + added[i] - (same ? window / 2 * 2 : 0);
    if (given.is_array() && given.size() == 4 && given.at(i + 1).is_number_integer()) {
      side = given.at(i + 1).get<int64_t>();
    }
    // The convolution of which this is the gradient makes as many pixels as the input has.
    const int64_t first = same ? least : least - 1 + window;
    if (side < first || side >= first + strides[i]) {
      return malformed(
          format("its result would have a side of %lld, which no convolution in steps of %lld "
                 "makes %lld of",
                 static_cast<long long>(side), static_cast<long long>(strides[i]),
                 static_cast<long long>(sides[i])));
    }
    result.push_back(side);
  }
  return result;
}

}  // namespace

Result<KerasTensor> import_conv2d_transpose(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  // Keras 1: (y, x, inputs, outputs), and (y, x, outputs, inputs) since.
  const bool first = importer->version == 1;
  if (layer.weights.empty() || layer.weights[0].dims.size() != 4 ||
      layer.weights[0].dims[first ? 2 : 3] != shape.c()) {
    return malformed(first ? "has no kernel (y, x, inputs, outputs)"
                           : "has no kernel (y, x, outputs, inputs)");
  }
  const Hdf5Array& kernel = layer.weights[0];
  DVNN_ASSIGN(ConvSpec spec, conv_spec(layer, shape, kernel.dims));
  spec.outputs = kernel.dims[first ? 3 : 2];
  DVNN_ASSIGN(const bool same, keras_is_same(layer.config));
  DVNN_ASSIGN(const auto sides, transposed_sides(layer, shape, spec, same));
  // TensorFlow takes the pads from the result's size.
  auto fit = [&](int64_t size, int64_t side, int64_t window, int64_t stride, int64_t* before,
                 int64_t* after) {
    *before = *after = 0;
    if (same) keras_same_pads(side, window, stride, before, after);
    const int64_t extra = side + *before + *after - (size - 1) * stride - window;
    return std::max<int64_t>(extra, 0);
  };
  const int64_t extra_x = fit(shape.w(), sides[1], (spec.kernel_x - 1) * spec.dilation_x + 1,
                              spec.stride_x, &spec.left, &spec.right);
  const int64_t extra_y = fit(shape.h(), sides[0], (spec.kernel_y - 1) * spec.dilation_y + 1,
                              spec.stride_y, &spec.top, &spec.bottom);
  std::vector<float> weights = reordered(kernel);  // (in, out, y, x), or Keras 1's (out, in, y, x)
  if (first) weights = turned(weights, kernel);
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, spec.outputs));
  DVNN_ASSIGN(const int out, importer->builder.deconvolution(layer.name, in, spec, extra_x, extra_y,
                                                             weights, std::move(bias)));
  return activated(importer, layer, KerasTensor{out, false, false});
}

namespace {

// Imports a product along the last axis of a picture or a sequence as a 1x1 convolution.
Result<KerasTensor> dense_pixels(KerasImporter* importer, const KerasLayer& layer, KerasTensor in) {
  if (importer->rank(in) == 3) {
    DVNN_ASSIGN(in, importer->as_row(layer.name, in));
  }
  const Shape shape = importer->builder.shape_of(in.value);
  if (shape.rank != 4) {
    return unsupported("needs a vector, a sequence or a picture, has " + shape.to_string());
  }
  const Hdf5Array& matrix = layer.weights[0];
  Hdf5Array kernel = matrix;
  kernel.dims = {1, 1, matrix.dims[0], matrix.dims[1]};
  ConvSpec spec;
  spec.outputs = matrix.dims[1];
  DVNN_TRY(keras_check_weights(layer, 0, {shape.c(), spec.outputs}));
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, spec.outputs));
  DVNN_ASSIGN(const int out, importer->builder.convolution(layer.name, in.value, spec,
                                                           reordered(kernel), std::move(bias)));
  return activated(importer, layer, in.with(out));
}

}  // namespace

Result<KerasTensor> import_dense(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& in = layer.inputs[0];
  const Shape shape = importer->builder.shape_of(in.value);
  const int64_t inputs = shape.elements();
  if (layer.weights.empty() || layer.weights[0].dims.size() != 2) {
    return malformed("has no matrix of weights");
  }
  if (!in.flat && shape.rank != 2) return dense_pixels(importer, layer, in);
  const int64_t outputs = layer.weights[0].dims[1];
  DVNN_TRY(keras_check_weights(layer, 0, {inputs, outputs}));
  DVNN_TRY(check_said(layer, "units", outputs));
  const Hdf5Array& matrix = layer.weights[0];
  std::vector<float> weights(matrix.values.size());
  const size_t count = shape.count(), m = matrix.extent(1);
  for (size_t i = 0; i < count; ++i) {
    // Row i belongs to element i of (h, w, c); the graph's picture is (c, h, w).
    const size_t to = in.flat ? channels_first(i, shape.channels(), count) : i;
    for (size_t o = 0; o < m; ++o) weights[o * count + to] = matrix.values[i * m + o];
  }
  DVNN_ASSIGN(auto bias, bias_of(layer, 1, outputs));
  DVNN_ASSIGN(const int out, importer->builder.inner_product(layer.name, in.value, outputs,
                                                             std::move(weights), std::move(bias)));
  return activated(importer, layer, KerasTensor{out, false, false});
}

}  // namespace dvnn::import
