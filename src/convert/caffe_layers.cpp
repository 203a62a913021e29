// SPDX-License-Identifier: Apache-2.0
// Layers with weights or windows.
#include "convert/caffe_layers.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"

namespace dvnn::convert {
namespace {

using device::Activation;
using device::Extent;

// The layer's first input, which must have 4 dimensions.
Result<int> picture_bottom(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int value, importer->bottom(layer, 0));
  if (importer->graph.shape_of(value).rank != 4) {
    return Error{ErrorCode::kUnsupported,
                 "needs a 4-dimensional input, has " + importer->graph.shape_of(value).to_string()};
  }
  return value;
}

// Caffe's ways to give a spatial parameter: _h and _w, or a list of one or two (h, w).
Result<Extent> spatial(const char* name, std::optional<uint32_t> h, std::optional<uint32_t> w,
                       const google::protobuf::RepeatedField<uint32_t>& list, uint32_t fallback,
                       uint32_t min, uint32_t max) {
  uint32_t y = fallback, x = fallback;
  if (h || w) {
    y = h.value_or(fallback);
    x = w.value_or(fallback);
  } else if (list.size() > 0) {
    y = list.Get(0);
    x = list.Get(list.size() > 1 ? 1 : 0);
  }
  if (y < min || x < min || y > max || x > max) {
    return Error{ErrorCode::kLimit,
                 format("%s is %u x %u (w x h), the device takes %u to %u", name, x, y, min, max)};
  }
  return Extent{static_cast<int>(x), static_cast<int>(y)};
}

template <typename Params>
std::optional<uint32_t> if_set(bool has, uint32_t (Params::*get)() const, const Params& params) {
  return has ? std::optional<uint32_t>((params.*get)()) : std::nullopt;
}

constexpr uint32_t kMaxKernel = 7, kMaxStride = 255, kMaxPad = 127, kMaxChannels = 32768;

Status import_activation(CaffeImporter* importer, const caffe::LayerParameter& layer,
                         Activation activation, float param, std::vector<float> slopes = {}) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  Node node;
  node.op = Op::kActivation;
  node.inputs = {in};
  node.run.activation = activation;
  node.run.activation_param = param;
  node.slopes = std::move(slopes);
  return importer->add(layer, std::move(node), dims_of(importer->graph.shape_of(in)));
}

Status import_affine(CaffeImporter* importer, const caffe::LayerParameter& layer, int in,
                     std::vector<float> scale, std::vector<float> bias) {
  Node node;
  node.op = Op::kAffine;
  node.inputs = {in};
  node.weights = std::move(scale);
  node.bias = std::move(bias);
  return importer->add(layer, std::move(node), dims_of(importer->graph.shape_of(in)));
}

// Channels along axis 1, which all per-channel layers use.
Result<size_t> channels_of(const CaffeImporter& importer, int value) {
  const Shape& shape = importer.graph.shape_of(value);
  if (shape.rank < 2) {
    return Error{ErrorCode::kUnsupported, "the input " + shape.to_string() + " has no channels"};
  }
  return static_cast<size_t>(shape[1]);
}

}  // namespace

Status import_convolution(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  using P = caffe::ConvolutionParameter;
  const P& p = layer.convolution_param();
  DVNN_ASSIGN(const int in, picture_bottom(importer, layer));
  const Shape shape = importer->graph.shape_of(in);
  Node node;
  node.op = Op::kConvolution;
  node.inputs = {in};
  device::ConvRun& run = node.run;
  DVNN_ASSIGN(run.kernel, spatial("the kernel", if_set(p.has_kernel_h(), &P::kernel_h, p),
                                  if_set(p.has_kernel_w(), &P::kernel_w, p), p.kernel_size(), 0, 1,
                                  kMaxKernel));
  DVNN_ASSIGN(run.stride,
              spatial("the stride", if_set(p.has_stride_h(), &P::stride_h, p),
                      if_set(p.has_stride_w(), &P::stride_w, p), p.stride(), 1, 1, kMaxStride));
  DVNN_ASSIGN(run.dilation,
              spatial("the dilation", std::nullopt, std::nullopt, p.dilation(), 1, 1, kMaxStride));
  DVNN_ASSIGN(const Extent pad,
              spatial("the pad", if_set(p.has_pad_h(), &P::pad_h, p),
                      if_set(p.has_pad_w(), &P::pad_w, p), p.pad(), 0, 0, kMaxPad));
  run.conv_pad = {pad.x, pad.x, pad.y, pad.y};
  const uint32_t m = p.num_output(), channels = static_cast<uint32_t>(shape.c());
  uint32_t group = p.group();
  // Some forks' depthwise types do not say the group.
  if (layer.type() != "Convolution" && !p.has_group()) group = channels;
  if (m < 1 || m > kMaxChannels || group < 1 || channels % group != 0 || m % group != 0) {
    return Error{ErrorCode::kMalformed,
                 format("num_output %u (1..%u) and group %u do not fit %u input channels", m,
                        kMaxChannels, group, channels)};
  }
  run.m = static_cast<int>(m);
  node.groups = static_cast<int>(group);
  run.conv = device::ConvKind::kConv;
  const size_t count = size_t{m} * (channels / group) * static_cast<size_t>(run.kernel.x) *
                       static_cast<size_t>(run.kernel.y);
  DVNN_ASSIGN(node.weights, importer->blobs.get(layer.name(), 0, count));
  node.bias.assign(m, 0.0f);
  if (p.bias_term()) {
    DVNN_ASSIGN(node.bias, importer->blobs.get(layer.name(), 1, m));
  }
  const device::Dims out = device::conv_output(run, {shape.w(), shape.h(), shape.c()});
  return importer->add(layer, std::move(node), {shape.n(), out.c, out.h, out.w});
}

Status import_inner_product(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.inner_product_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = importer->graph.shape_of(in);
  if (p.axis() != 1 || p.transpose()) {
    return Error{ErrorCode::kUnsupported, "only axis 1 and transpose false are supported"};
  }
  if (p.num_output() < 1 || p.num_output() > kMaxChannels ||
      shape.elements() > static_cast<int64_t>(kMaxChannels)) {
    return Error{ErrorCode::kLimit,
                 format("%lld inputs to %u outputs, the device's limit is %u",
                        static_cast<long long>(shape.elements()), p.num_output(), kMaxChannels)};
  }
  const size_t inputs = static_cast<size_t>(shape.elements()), m = p.num_output();
  Node node;
  node.op = Op::kInnerProduct;
  node.inputs = {in};
  node.run.m = static_cast<int>(m);
  DVNN_ASSIGN(node.weights, importer->blobs.get(layer.name(), 0, inputs * m));
  node.bias.assign(m, 0.0f);
  if (p.bias_term()) {
    DVNN_ASSIGN(node.bias, importer->blobs.get(layer.name(), 1, m));
  }
  return importer->add(layer, std::move(node), {shape[0], static_cast<int64_t>(m)});
}

Status import_batch_norm(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  DVNN_ASSIGN(const auto mean, importer->blobs.get(layer.name(), 0, channels));
  DVNN_ASSIGN(const auto variance, importer->blobs.get(layer.name(), 1, channels));
  // The third blob is what the running sums were scaled by.
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
      return Error{ErrorCode::kMalformed,
                   format("variance %g of channel %zu is not positive", variance[c], c)};
    }
    scale[c] = 1 / std::sqrt(v);
    bias[c] = -mean[c] * factor * scale[c];
  }
  return import_affine(importer, layer, in, std::move(scale), std::move(bias));
}

Status import_scale(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.scale_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  if (p.axis() != 1 || p.num_axes() != 1 || layer.bottom_size() != 1) {
    return Error{ErrorCode::kUnsupported, "only a learned scale per channel (axis 1) is supported"};
  }
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  DVNN_ASSIGN(auto scale, importer->blobs.get(layer.name(), 0, channels));
  std::vector<float> bias(channels, 0.0f);
  if (p.bias_term()) {
    DVNN_ASSIGN(bias, importer->blobs.get(layer.name(), 1, channels));
  }
  return import_affine(importer, layer, in, std::move(scale), std::move(bias));
}

Status import_power(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.power_param();
  if (p.power() != 1) {
    return Error{ErrorCode::kUnsupported, format("power is %g, only 1 is supported", p.power())};
  }
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const size_t channels, channels_of(*importer, in));
  return import_affine(importer, layer, in, std::vector<float>(channels, p.scale()),
                       std::vector<float>(channels, p.shift()));
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
    return Error{ErrorCode::kUnsupported,
                 format("alpha is %g, the device does 1", layer.elu_param().alpha())};
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
  constexpr uint32_t kMaxWindow = 65535;
  const P& p = layer.pooling_param();
  DVNN_ASSIGN(const int in, picture_bottom(importer, layer));
  const Shape shape = importer->graph.shape_of(in);
  if (p.pool() == P::STOCHASTIC) {
    return Error{ErrorCode::kUnsupported, "stochastic pooling is not supported (MAX and AVE are)"};
  }
  Extent kernel = {shape.w(), shape.h()}, stride, pad = {0, 0};
  if (!p.global_pooling()) {
    const google::protobuf::RepeatedField<uint32_t> none;
    auto both = [](bool has, uint32_t value) {
      google::protobuf::RepeatedField<uint32_t> list;
      if (has) list.Add(value);
      return list;
    };
    DVNN_ASSIGN(kernel, spatial("the window", if_set(p.has_kernel_h(), &P::kernel_h, p),
                                if_set(p.has_kernel_w(), &P::kernel_w, p),
                                both(p.has_kernel_size(), p.kernel_size()), 0, 1, kMaxWindow));
    DVNN_ASSIGN(stride, spatial("the stride", if_set(p.has_stride_h(), &P::stride_h, p),
                                if_set(p.has_stride_w(), &P::stride_w, p),
                                both(p.has_stride(), p.stride()), 1, 1, kMaxWindow));
    DVNN_ASSIGN(pad, spatial("the pad", if_set(p.has_pad_h(), &P::pad_h, p),
                             if_set(p.has_pad_w(), &P::pad_w, p), both(p.has_pad(), p.pad()), 0, 0,
                             kMaxWindow));
  }
  if (pad.x >= kernel.x || pad.y >= kernel.y) {
    return Error{ErrorCode::kMalformed, "the pad must be smaller than the window"};
  }
  // Caffe rounds up, then drops a last window that would begin in the padding.
  auto outputs = [&](int64_t size, int64_t k, int64_t s, int64_t padding) -> int64_t {
    const int64_t room = size + 2 * padding - k;
    if (room < 0) return 0;
    int64_t n = (p.ceil_mode() ? (room + s - 1) / s : room / s) + 1;
    if (padding > 0 && (n - 1) * s >= size + padding) --n;
    return n;
  };
  Node node;
  node.op = Op::kPooling;
  node.inputs = {in};
  node.run.pool = p.pool() == P::MAX ? device::PoolKind::kMax : device::PoolKind::kAverage;
  node.run.pool_size = kernel;
  node.run.pool_stride = stride;
  node.run.pool_pad = {pad.x, pad.x, pad.y, pad.y};  // Caffe's; the passes make it the device's
  node.run.m = shape.c();
  return importer->add(layer, std::move(node),
                       {shape.n(), shape.c(), outputs(shape.h(), kernel.y, stride.y, pad.y),
                        outputs(shape.w(), kernel.x, stride.x, pad.x)});
}

}  // namespace dvnn::convert
