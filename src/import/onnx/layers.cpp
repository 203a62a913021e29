// SPDX-License-Identifier: Apache-2.0
// Operators with weights, windows or arithmetic.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "import/onnx/import.h"

namespace dvnn::import {
namespace {

using device::Activation;

// Two numbers per picture axis, y first; `fallback` if the attribute is absent.
Result<std::vector<int64_t>> pair_of(const OnnxNode& node, const char* attribute,
                                     int64_t fallback) {
  std::vector<int64_t> pair = node.integers(attribute);
  if (pair.empty()) pair = {fallback, fallback};
  if (pair.size() == 2) return pair;
  return Error{ErrorCode::kUnsupported,
               format("%s has %zu numbers: pictures need two", attribute, pair.size())};
}

struct Pads {
  int64_t left = 0, right = 0, top = 0, bottom = 0;
};

// auto_pad=SAME_*: as many outputs as the input has strides.
void same_pads(int64_t size, int64_t window, int64_t stride, bool upper, int64_t* before,
               int64_t* after) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride + window - size, 0);
  *before = upper ? total / 2 : total - total / 2;
  *after = total - *before;
}

Result<Pads> pads_of(const OnnxNode& node, const Shape& in, int64_t window_x, int64_t window_y,
                     int64_t stride_x, int64_t stride_y) {
  Pads pads;
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    const bool upper = mode == "SAME_UPPER";
    same_pads(in.w(), window_x, std::max<int64_t>(stride_x, 1), upper, &pads.left, &pads.right);
    same_pads(in.h(), window_y, std::max<int64_t>(stride_y, 1), upper, &pads.top, &pads.bottom);
    return pads;
  }
  if (mode != "NOTSET" && mode != "VALID") {
    return Error{ErrorCode::kUnsupported, "auto_pad '" + mode + "' is not supported"};
  }
  const std::vector<int64_t> list = node.integers("pads");
  if (list.empty() || mode == "VALID") return pads;
  if (list.size() != 4) {
    return Error{ErrorCode::kUnsupported,
                 format("pads has %zu numbers: pictures need four", list.size())};
  }
  return Pads{list[1], list[3], list[0], list[2]};
}

Result<int> picture(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const Shape& shape = node.builder().shape_of(in);
  if (shape.rank == 4) return in;
  return Error{ErrorCode::kUnsupported, "needs a picture, has " + shape.to_string()};
}

// Kernel, stride, dilation, pads and groups of a convolution with these weights.
Result<ConvSpec> conv_spec(const OnnxNode& node, const Shape& in, const OnnxConstant& weights,
                           size_t outputs_axis) {
  if (weights.dims.size() != 4) {
    return Error{ErrorCode::kUnsupported,
                 format("the weights have %zu dimensions: only those over pictures are supported",
                        weights.dims.size())};
  }
  ConvSpec spec;
  spec.groups = node.integer("group", 1);
  spec.outputs = weights.dims[outputs_axis];
  spec.kernel_y = weights.dims[2];
  spec.kernel_x = weights.dims[3];
  DVNN_ASSIGN(const auto strides, pair_of(node, "strides", 1));
  DVNN_ASSIGN(const auto dilations, pair_of(node, "dilations", 1));
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  spec.dilation_y = dilations[0], spec.dilation_x = dilations[1];
  DVNN_ASSIGN(const Pads pads,
              pads_of(node, in, (spec.kernel_x - 1) * spec.dilation_x + 1,
                      (spec.kernel_y - 1) * spec.dilation_y + 1, spec.stride_x, spec.stride_y));
  spec.left = pads.left, spec.right = pads.right, spec.top = pads.top, spec.bottom = pads.bottom;
  return spec;
}

Result<std::vector<float>> optional_floats(const OnnxNode& node, int input) {
  if (!node.has(input)) return std::vector<float>();
  DVNN_ASSIGN(const auto constant, node.constant(input));
  return constant->floats();
}

// One number per channel of `in`, if the constant is that or a single number; else empty.
std::vector<float> per_channel(const OnnxConstant& constant, const Shape& in) {
  std::vector<float> values = constant.floats();
  const size_t channels = static_cast<size_t>(in.c());
  if (values.size() == 1) return std::vector<float>(channels, values[0]);
  // C x 1 x 1, with or without the batch.
  const std::vector<int64_t>& d = constant.dims;
  const bool fits = (d.size() == 3 || (d.size() == 4 && d[0] == 1)) && d[d.size() - 3] == in.c() &&
                    d[d.size() - 2] == 1 && d[d.size() - 1] == 1;
  return fits ? values : std::vector<float>();
}

// value (operation) constant as scale and bias, where it is that.
bool as_affine(const std::string& operation, bool constant_first, const std::vector<float>& k,
               std::vector<float>* scale, std::vector<float>* bias) {
  scale->assign(k.size(), 1.0f);
  bias->assign(k.size(), 0.0f);
  for (size_t c = 0; c < k.size(); ++c) {
    if (operation == "Add") {
      (*bias)[c] = k[c];
    } else if (operation == "Mul") {
      (*scale)[c] = k[c];
    } else if (operation == "Sub") {
      (*scale)[c] = constant_first ? -1.0f : 1.0f;
      (*bias)[c] = constant_first ? k[c] : -k[c];
    } else if (operation == "Div" && !constant_first && k[c] != 0) {
      (*scale)[c] = 1 / k[c];
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

Status import_onnx_conv(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, picture(node));
  DVNN_ASSIGN(const auto weights, node.constant(1));
  DVNN_ASSIGN(const ConvSpec spec, conv_spec(node, node.builder().shape_of(in), *weights, 0));
  DVNN_ASSIGN(auto bias, optional_floats(node, 2));
  return node.done(
      node.builder().convolution(node.name(), in, spec, weights->floats(), std::move(bias)));
}

Status import_onnx_conv_transpose(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, picture(node));
  DVNN_ASSIGN(const auto weights, node.constant(1));
  if (node.text("auto_pad", "NOTSET") != "NOTSET" || !node.integers("output_shape").empty()) {
    return Error{ErrorCode::kUnsupported, "only explicit pads are supported"};
  }
  DVNN_ASSIGN(const ConvSpec spec, conv_spec(node, node.builder().shape_of(in), *weights, 1));
  DVNN_ASSIGN(const auto extra, pair_of(node, "output_padding", 0));
  DVNN_ASSIGN(auto bias, optional_floats(node, 2));
  return node.done(node.builder().deconvolution(node.name(), in, spec, extra[1], extra[0],
                                                weights->floats(), std::move(bias)));
}

Status import_onnx_gemm(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto weights, node.constant(1));
  if (node.integer("transA", 0) != 0 || weights->dims.size() != 2) {
    return Error{ErrorCode::kUnsupported, "only a vector times a known matrix is supported"};
  }
  const bool transposed = node.integer("transB", 0) != 0;
  const auto m = static_cast<size_t>(weights->dims[transposed ? 0 : 1]);
  const auto k = static_cast<size_t>(weights->dims[transposed ? 1 : 0]);
  const float alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  std::vector<float> ordered(m * k);
  for (size_t o = 0; o < m; ++o) {
    for (size_t i = 0; i < k; ++i) {
      const double w = weights->values[transposed ? o * k + i : i * m + o];
      ordered[o * k + i] = alpha * static_cast<float>(w);
    }
  }
  DVNN_ASSIGN(auto bias, optional_floats(node, 2));
  if (bias.size() == 1) bias.resize(m, bias[0]);
  for (float& b : bias) b *= beta;
  return node.done(node.builder().inner_product(node.name(), in, static_cast<int64_t>(m),
                                                std::move(ordered), std::move(bias)));
}

Status import_onnx_matmul(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto weights, node.constant(1));
  const Shape& shape = node.builder().shape_of(in);
  if (weights->dims.size() != 2 || shape.elements() != weights->dims[0]) {
    return Error{ErrorCode::kUnsupported, "only a vector times a known matrix is supported"};
  }
  const auto k = static_cast<size_t>(weights->dims[0]), m = static_cast<size_t>(weights->dims[1]);
  std::vector<float> ordered(m * k);
  for (size_t i = 0; i < k; ++i) {
    for (size_t o = 0; o < m; ++o) {
      ordered[o * k + i] = static_cast<float>(weights->values[i * m + o]);
    }
  }
  return node.done(
      node.builder().inner_product(node.name(), in, weights->dims[1], std::move(ordered), {}));
}

Status import_onnx_batch_norm(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<float> parts[4];  // scale, bias, mean, variance
  const Shape& shape = node.builder().shape_of(in);
  if (shape.rank < 2) return Error{ErrorCode::kUnsupported, "the input has no channels"};
  for (int i = 0; i < 4; ++i) {
    DVNN_ASSIGN(const auto constant, node.constant(i + 1));
    parts[i] = constant->floats();
    if (static_cast<int>(parts[i].size()) != shape[1]) {
      return Error{ErrorCode::kMalformed, format("input %d has %zu numbers for %d channels", i + 1,
                                                 parts[i].size(), shape[1])};
    }
  }
  const float epsilon = node.number("epsilon", 1e-5f);
  std::vector<float> scale(parts[0].size()), bias(parts[0].size());
  for (size_t c = 0; c < scale.size(); ++c) {
    if (!(parts[3][c] + epsilon > 0)) {
      return Error{ErrorCode::kMalformed, format("variance %g of channel %zu is not positive",
                                                 static_cast<double>(parts[3][c]), c)};
    }
    scale[c] = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    bias[c] = parts[1][c] - parts[2][c] * scale[c];
  }
  return node.done(node.builder().affine(node.name(), in, std::move(scale), std::move(bias)));
}

Status import_onnx_activation(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  const std::string& type = node.type();
  if (type == "Relu") return node.done(b.activation(node.name(), in, Activation::kRelu));
  if (type == "Sigmoid") return node.done(b.activation(node.name(), in, Activation::kSigmoid));
  if (type == "Tanh") return node.done(b.activation(node.name(), in, Activation::kTanh));
  if (type == "LeakyRelu") {
    return node.done(b.activation(node.name(), in, Activation::kRelu, node.number("alpha", 0.01f)));
  }
  if (type == "Elu") {
    if (node.number("alpha", 1) != 1) {
      return Error{ErrorCode::kUnsupported, "alpha is not 1, which is what the device does"};
    }
    return node.done(b.activation(node.name(), in, Activation::kElu));
  }
  DVNN_ASSIGN(const auto slopes, node.constant(1));
  return node.done(b.activation(node.name(), in, Activation::kPrelu, 0, slopes->floats()));
}

Status import_onnx_clip(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  float least = node.number("min", std::numeric_limits<float>::lowest());
  float most = node.number("max", std::numeric_limits<float>::max());
  for (int i = 1; i <= 2; ++i) {  // inputs since opset 11
    if (!node.has(i)) continue;
    DVNN_ASSIGN(const auto bound, node.constant(i));
    if (bound->values.size() != 1) return Error{ErrorCode::kMalformed, "a bound is no number"};
    (i == 1 ? least : most) = static_cast<float>(bound->values[0]);
  }
  if (least == 0 && most == 6) {
    return node.done(node.builder().activation(node.name(), in, Activation::kRelu6));
  }
  if (least == 0 && most == std::numeric_limits<float>::max()) {
    return node.done(node.builder().activation(node.name(), in, Activation::kRelu));
  }
  return node.done(
      node.builder().unary(node.name(), {layers::UnaryFunction::kClip, least, most}, in));
}

Status import_onnx_unary(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::string name = node.type();
  std::transform(name.begin(), name.end(), name.begin(), ::tolower);
  layers::UnaryAttributes attributes;
  DVNN_ASSIGN(attributes.function, layers::parse_unary_function(name));
  if (attributes.function == layers::UnaryFunction::kHardSigmoid) {
    attributes.a = node.number("alpha", 0.2f);
    attributes.b = node.number("beta", 0.5f);
  }
  return node.done(node.builder().unary(node.name(), attributes, in));
}

Status import_onnx_binary(const OnnxNode& node) {
  if (node.inputs() != 2) {
    return Error{ErrorCode::kUnsupported, format("has %d inputs, needs 2", node.inputs())};
  }
  GraphBuilder& b = node.builder();
  const int constant_at = node.is_constant(0) ? 0 : node.is_constant(1) ? 1 : -1;
  if (constant_at >= 0) {
    DVNN_ASSIGN(const int in, node.value(1 - constant_at));
    DVNN_ASSIGN(const auto constant, node.constant(constant_at));
    const Shape shape = b.shape_of(in);
    std::vector<float> scale, bias;
    if (shape.rank == 4) {
      const std::vector<float> k = per_channel(*constant, shape);
      if (!k.empty() && as_affine(node.type(), constant_at == 0, k, &scale, &bias)) {
        return node.done(b.affine(node.name(), in, std::move(scale), std::move(bias)));
      }
    }
  }
  DVNN_ASSIGN(const int first, node.value(0));
  DVNN_ASSIGN(const int second, node.value(1));
  std::string name = node.type();
  std::transform(name.begin(), name.end(), name.begin(), ::tolower);
  DVNN_ASSIGN(const auto operation, layers::parse_binary_operation(name));
  if (operation == layers::BinaryOperation::kMul && b.shape_of(first) == b.shape_of(second)) {
    return node.done(b.cpu(node.name(),
                           layers::EltwiseAttributes{layers::EltwiseOperation::kProduct, {}},
                           {first, second}));
  }
  return node.done(b.binary(node.name(), operation, first, second));
}

Status import_onnx_add(const OnnxNode& node) {
  if (node.inputs() != 2) return Error{ErrorCode::kMalformed, "needs 2 inputs"};
  if (node.is_constant(0) || node.is_constant(1)) {
    // A vector's sum with a known vector is a layer's bias.
    const int at = node.is_constant(0) ? 0 : 1;
    DVNN_ASSIGN(const int in, node.value(1 - at));
    DVNN_ASSIGN(const auto constant, node.constant(at));
    const Shape shape = node.builder().shape_of(in);
    if (shape.rank == 2 && static_cast<int>(constant->values.size()) == shape[1]) {
      return node.done(node.builder().affine(
          node.name(), in, std::vector<float>(constant->values.size(), 1.0f), constant->floats()));
    }
    return import_onnx_binary(node);
  }
  return import_onnx_sum(node);
}

Status import_onnx_sum(const OnnxNode& node) {
  DVNN_ASSIGN(int total, node.value(0));
  for (int i = 1; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const int next, node.value(i));
    const bool last = i + 1 == node.inputs();
    const std::string name = last ? node.name() : node.name() + "_" + std::to_string(i);
    DVNN_ASSIGN(total, node.builder().sum(name, total, next));
  }
  return node.done(total);
}

static Status import_pool(const OnnxNode& node, bool average) {
  DVNN_ASSIGN(const int in, picture(node));
  const Shape& shape = node.builder().shape_of(in);
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  if (kernel.size() != 2) return Error{ErrorCode::kMalformed, "kernel_shape needs two numbers"};
  DVNN_ASSIGN(const auto strides, pair_of(node, "strides", 1));
  DVNN_ASSIGN(const auto dilations, pair_of(node, "dilations", 1));
  if (dilations[0] != 1 || dilations[1] != 1) {
    return Error{ErrorCode::kUnsupported, "dilated pooling is not supported"};
  }
  if (node.outputs() > 1) {
    return Error{ErrorCode::kUnsupported, "the places of the maxima are not supported"};
  }
  DVNN_ASSIGN(const Pads pads, pads_of(node, shape, kernel[1], kernel[0], strides[1], strides[0]));
  PoolSpec spec;
  spec.average = average;
  spec.kernel_x = kernel[1], spec.kernel_y = kernel[0];
  spec.stride_x = strides[1], spec.stride_y = strides[0];
  spec.left = pads.left, spec.right = pads.right, spec.top = pads.top, spec.bottom = pads.bottom;
  spec.ceil = node.integer("ceil_mode", 0) != 0;
  spec.counts_pads = node.integer("count_include_pad", 0) != 0;
  return node.done(node.builder().pooling(node.name(), in, spec));
}

Status import_onnx_max_pool(const OnnxNode& node) {
  return import_pool(node, false);
}

Status import_onnx_average_pool(const OnnxNode& node) {
  return import_pool(node, true);
}

Status import_onnx_global_pool(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, picture(node));
  return node.done(
      node.builder().global_pooling(node.name(), in, node.type() == "GlobalAveragePool"));
}

Status import_onnx_reduce_mean(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, picture(node));
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, 4));
  }
  std::sort(axes.begin(), axes.end());
  if (axes != std::vector<int64_t>{2, 3}) {
    return Error{ErrorCode::kUnsupported,
                 "only the mean over a picture (axes 2 and 3) is supported"};
  }
  DVNN_ASSIGN(const int mean, node.builder().global_pooling(node.name(), in, true));
  if (node.integer("keepdims", 1) != 0) return node.done(mean);
  const int64_t channels = node.builder().shape_of(mean).c();
  return node.done(node.builder().reshape(node.name() + "_squeezed", mean, {1, channels}));
}

Status import_onnx_resize(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, picture(node));
  const Shape shape = node.builder().shape_of(in);
  // Upsample: (x, scales); Resize: (x, scales) in opset 10, later (x, roi, scales, sizes).
  const bool late = node.type() == "Resize" && node.opset() >= 11;
  std::vector<double> scales;
  if (node.has(late ? 2 : 1)) {
    DVNN_ASSIGN(const auto constant, node.constant(late ? 2 : 1));
    scales = constant->values;
  }
  if (scales.empty() && late && node.has(3)) {
    DVNN_ASSIGN(const auto sizes, node.constant(3));
    for (size_t i = 0; i < sizes->values.size() && i < 4; ++i) {
      scales.push_back(sizes->values[i] / shape[static_cast<int>(i)]);
    }
  }
  if (scales.empty()) {
    for (float s : node.numbers("scales")) scales.push_back(static_cast<double>(s));
  }
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1) {
    return Error{ErrorCode::kUnsupported, "only height and width of a picture can be resized"};
  }
  const std::string mode = node.text("mode", "nearest");
  const std::string coordinates = node.text("coordinate_transformation_mode", "half_pixel");
  const bool corner = node.type() == "Upsample" || coordinates == "asymmetric" ||
                      coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  const std::string rounding = node.text("nearest_mode", "round_prefer_floor");
  const bool repeats = rounding == "floor" || rounding == "round_prefer_floor";
  if (mode != "nearest" || !corner || !repeats || scales[2] != scales[3]) {
    return Error{ErrorCode::kUnsupported, "mode '" + mode + "', coordinates '" + coordinates +
                                              "': the device repeats pixels (nearest) by 2, 4, 8"};
  }
  int value = in;
  double left = scales[2];
  for (int step = 1; left > 1; ++step, left /= 2) {
    DVNN_ASSIGN(value,
                node.builder().upsample2(
                    left == 2 ? node.name() : node.name() + "_" + std::to_string(step), value));
  }
  if (left != 1) {
    return Error{ErrorCode::kUnsupported,
                 format("scale %g: the device repeats pixels by 2, 4, 8", scales[2])};
  }
  return node.done(value);
}

}  // namespace dvnn::import
