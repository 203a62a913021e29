// SPDX-License-Identifier: Apache-2.0
// Layers with weights or windows, and those of types that the user declared.
#include "import/caffe/layers.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::import {

CaffeBlobs::CaffeBlobs(const caffe::NetParameter& weights) {
  for (const caffe::LayerParameter& layer : weights.layer()) {
    if (layer.blobs_size() > 0) layers_[layer.name()] = &layer;
  }
}

int CaffeBlobs::count(const std::string& layer) const {
  const auto it = layers_.find(layer);
  return it == layers_.end() ? 0 : it->second->blobs_size();
}

Result<std::vector<float>> CaffeBlobs::get(const std::string& layer, int index) const {
  if (index >= count(layer)) {
    return malformed(
        format("the caffemodel has %d of its blobs, number %d is needed", count(layer), index + 1));
  }
  const caffe::BlobProto& blob = layers_.at(layer)->blobs(index);
  std::vector<float> values(blob.data().begin(), blob.data().end());
  if (values.empty()) values.assign(blob.double_data().begin(), blob.double_data().end());
  for (float v : values) {
    if (!std::isfinite(v)) {
      return malformed(format("blob %d holds a value that is not finite", index));
    }
  }
  return values;
}

Result<std::vector<float>> CaffeBlobs::get(const std::string& layer, int index,
                                           size_t elements) const {
  DVNN_ASSIGN(auto values, get(layer, index));
  if (values.size() == elements) return values;
  return malformed(
      format("blob %d holds %zu values, the layer needs %zu", index, values.size(), elements));
}

namespace {

using device::Activation;

struct Extents {
  int64_t x, y;
};

// Caffe's ways to give a spatial parameter: _h and _w, or a list of one or two (h, w).
Extents spatial(std::optional<uint32_t> h, std::optional<uint32_t> w,
                const google::protobuf::RepeatedField<uint32_t>& list, uint32_t fallback) {
  if (h || w) return {w.value_or(fallback), h.value_or(fallback)};
  if (list.size() == 0) return {fallback, fallback};
  return {list.Get(list.size() > 1 ? 1 : 0), list.Get(0)};
}

template <typename Params>
std::optional<uint32_t> if_set(bool has, uint32_t (Params::*get)() const, const Params& params) {
  return has ? std::optional<uint32_t>((params.*get)()) : std::nullopt;
}

Status import_activation(CaffeImporter* importer, const caffe::LayerParameter& layer,
                         Activation activation, float param, std::vector<float> slopes = {}) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  return importer->done(
      layer, importer->builder.activation(layer.name(), in, activation, param, std::move(slopes)));
}

// Channels along axis 1, which all per-channel layers use.
Result<size_t> channels_of(const CaffeImporter& importer, int value) {
  const Shape& shape = importer.builder.shape_of(value);
  if (shape.rank < 2) return unsupported("the input " + shape.to_string() + " has no channels");
  return shape.channels();
}

}  // namespace

Status import_convolution(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  using P = caffe::ConvolutionParameter;
  const P& p = layer.convolution_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Extents kernel = spatial(if_set(p.has_kernel_h(), &P::kernel_h, p),
                                 if_set(p.has_kernel_w(), &P::kernel_w, p), p.kernel_size(), 0);
  const Extents stride = spatial(if_set(p.has_stride_h(), &P::stride_h, p),
                                 if_set(p.has_stride_w(), &P::stride_w, p), p.stride(), 1);
  const Extents dilation = spatial(std::nullopt, std::nullopt, p.dilation(), 1);
  const Extents pad =
      spatial(if_set(p.has_pad_h(), &P::pad_h, p), if_set(p.has_pad_w(), &P::pad_w, p), p.pad(), 0);
  ConvSpec spec;
  spec.outputs = p.num_output();
  spec.kernel_x = kernel.x, spec.kernel_y = kernel.y;
  spec.stride_x = stride.x, spec.stride_y = stride.y;
  spec.dilation_x = dilation.x, spec.dilation_y = dilation.y;
  spec.left = spec.right = pad.x, spec.top = spec.bottom = pad.y;
  spec.groups = p.group();
  // Some forks' depthwise types omit the group.
  const Shape& shape = importer->builder.shape_of(in);
  const bool plain = layer.type() == "Convolution" || layer.type() == "Deconvolution";
  if (!plain && !p.has_group() && shape.rank == 4) spec.groups = shape.c();
  DVNN_ASSIGN(auto weights, importer->blobs.get(layer.name(), 0));
  std::vector<float> bias;
  if (p.bias_term()) {
    DVNN_ASSIGN(bias, importer->blobs.get(layer.name(), 1));
  }
  return importer->done(
      layer,
      layer.type() == "Deconvolution"
          ? importer->builder.deconvolution(layer.name(), in, spec, 0, 0, weights, std::move(bias))
          : importer->builder.convolution(layer.name(), in, spec, std::move(weights),
                                          std::move(bias)));
}

Status import_inner_product(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.inner_product_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  if (p.axis() != 1 || p.transpose()) {
    return unsupported("only axis 1 and transpose false are supported");
  }
  DVNN_ASSIGN(auto weights, importer->blobs.get(layer.name(), 0));
  std::vector<float> bias;
  if (p.bias_term()) {
    DVNN_ASSIGN(bias, importer->blobs.get(layer.name(), 1));
  }
  return importer->done(
      layer, importer->builder.inner_product(layer.name(), in, p.num_output(), std::move(weights),
                                             std::move(bias)));
}

Status import_batch_norm(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  DVNN_ASSIGN(const auto mean, importer->blobs.get(layer.name(), 0, channels));
  DVNN_ASSIGN(const auto variance, importer->blobs.get(layer.name(), 1, channels));
  // The third blob is the divisor of the running sums.
  float factor = 1;
  if (importer->blobs.count(layer.name()) > 2) {
    DVNN_ASSIGN(const auto sums, importer->blobs.get(layer.name(), 2, 1));
    factor = sums[0] == 0 ? 0 : 1 / sums[0];
  }
  const float eps = layer.batch_norm_param().eps();
  std::vector<float> scale(channels), bias(channels);
  for (size_t c = 0; c < channels; ++c) {
    const float v = variance[c] * factor + eps;
    if (!(v > 0)) {
      return malformed(format("variance %g of channel %zu is not positive", variance[c], c));
    }
    scale[c] = 1 / std::sqrt(v);
    bias[c] = -mean[c] * factor * scale[c];
  }
  return importer->done(
      layer, importer->builder.affine(layer.name(), in, std::move(scale), std::move(bias)));
}

Status import_scale(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.scale_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  if (p.axis() != 1 || p.num_axes() != 1 || layer.bottom_size() != 1) {
    return unsupported("only a learned scale per channel (axis 1) is supported");
  }
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  DVNN_ASSIGN(auto scale, importer->blobs.get(layer.name(), 0, channels));
  std::vector<float> bias(channels, 0.0f);
  if (p.bias_term()) {
    DVNN_ASSIGN(bias, importer->blobs.get(layer.name(), 1, channels));
  }
  return importer->done(
      layer, importer->builder.affine(layer.name(), in, std::move(scale), std::move(bias)));
}

Status import_power(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.power_param();
  if (p.power() != 1) return unsupported(format("power is %g, only 1 is supported", p.power()));
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  return importer->done(
      layer, importer->builder.affine(layer.name(), in, std::vector<float>(channels, p.scale()),
                                      std::vector<float>(channels, p.shift())));
}

Status import_relu(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  return import_activation(importer, layer, Activation::kRelu, layer.relu_param().negative_slope());
}

Status import_sigmoid(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  return import_activation(importer, layer, Activation::kSigmoid, 0);
}

Status import_tanh(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  return import_activation(importer, layer, Activation::kTanh, 0);
}

Status import_elu(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  if (layer.elu_param().alpha() != 1) {
    return unsupported(format("alpha is %g, the device does 1", layer.elu_param().alpha()));
  }
  return import_activation(importer, layer, Activation::kElu, 0);
}

Status import_prelu(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  const bool shared = layer.prelu_param().channel_shared();
  DVNN_ASSIGN(auto slopes, importer->blobs.get(layer.name(), 0, shared ? 1 : channels));
  slopes.resize(channels, slopes[0]);
  return import_activation(importer, layer, Activation::kPrelu, 0, std::move(slopes));
}

Status import_pooling(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  using P = caffe::PoolingParameter;
  const P& p = layer.pooling_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  if (p.pool() == P::STOCHASTIC) {
    return unsupported("stochastic pooling is not supported (MAX and AVE are)");
  }
  const bool average = p.pool() == P::AVE;
  if (p.global_pooling()) {
    return importer->done(layer, importer->builder.global_pooling(layer.name(), in, average));
  }
  auto both = [](bool has, uint32_t value) {
    google::protobuf::RepeatedField<uint32_t> list;
    if (has) list.Add(value);
    return list;
  };
  const Extents kernel =
      spatial(if_set(p.has_kernel_h(), &P::kernel_h, p), if_set(p.has_kernel_w(), &P::kernel_w, p),
              both(p.has_kernel_size(), p.kernel_size()), 0);
  const Extents stride =
      spatial(if_set(p.has_stride_h(), &P::stride_h, p), if_set(p.has_stride_w(), &P::stride_w, p),
              both(p.has_stride(), p.stride()), 1);
  const Extents pad = spatial(if_set(p.has_pad_h(), &P::pad_h, p),
                              if_set(p.has_pad_w(), &P::pad_w, p), both(p.has_pad(), p.pad()), 0);
  PoolSpec spec;
  spec.average = average;
  spec.kernel_x = kernel.x, spec.kernel_y = kernel.y;
  spec.stride_x = stride.x, spec.stride_y = stride.y;
  spec.left = spec.right = pad.x, spec.top = spec.bottom = pad.y;
  spec.ceil = p.ceil_mode();
  return importer->done(layer, importer->builder.pooling(layer.name(), in, spec));
}

Status import_upsample(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const uint32_t scale = layer.upsample_param().scale();
  if (scale != 2) return unsupported(format("scale is %u, the device doubles", scale));
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  return importer->done(layer, importer->builder.upsample2(layer.name(), in));
}

std::string caffe_custom_type(const caffe::LayerParameter& layer) {
  return layer.type() == "Python" ? layer.python_param().layer() : layer.type();
}

// Imports a layer of a type that the user declared. Caffe has no place for parameters of foreign
// types except its Python layer's param_str: JSON, perhaps with Python's quotes.
Status import_custom(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const std::string type = caffe_custom_type(layer);
  std::vector<int> inputs;
  for (int i = 0; i < layer.bottom_size(); ++i) {
    DVNN_ASSIGN(const int value, importer->bottom(layer, i));
    inputs.push_back(value);
  }
  std::string text = layer.python_param().param_str();
  const char* const kWhat = "python_param.param_str";
  auto parsed = parse_json(text.empty() ? "{}" : text, kWhat);
  if (!parsed.ok() && parsed.error().code == ErrorCode::kMalformed) {
    std::replace(text.begin(), text.end(), '\'', '"');
    parsed = parse_json(text, kWhat);
  }
  DVNN_ASSIGN(const Json params, std::move(parsed));
  if (!params.is_object()) return malformed(std::string(kWhat) + " is no JSON object");
  const CustomLayer& declared = importer->options.custom_layers.at(type);
  return importer->done(
      layer, importer->builder.custom(layer.name(), type, declared, params, std::move(inputs)));
}

}  // namespace dvnn::import
