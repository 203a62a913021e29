// SPDX-License-Identifier: Apache-2.0
// Operators with weights: convolutions and products of matrices.
#include <algorithm>

#include "base/format.h"
#include "import/options.h"
#include "import/tflite/import.h"
#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

using tfl::Padding;

// Returns the biases. In a quantised layer, biases without a scale have that of its products.
Result<std::string> bias_of(const TfliteNode& node, int input, int data, int weights) {
  DVNN_ASSIGN(const auto given, node.constant(input));
  const tfl::Tensor& tensor = node.input_tensor(input);
  DVNN_ASSIGN(const TfliteScaling own, tflite_scaling(tensor));
  DVNN_ASSIGN(const TfliteScaling of_data, tflite_scaling(node.input_tensor(data)));
  DVNN_ASSIGN(const TfliteScaling of_weights, tflite_scaling(node.input_tensor(weights)));
  OnnxConstant bias = *given;
  bias.dims = {static_cast<int64_t>(bias.values.size())};
  const bool bare = own.scale.empty() && !is_tflite_real(tensor.type());
  if (bare && of_data.scale.size() == 1 && !of_weights.scale.empty()) {
    for (size_t i = 0; i < bias.values.size(); ++i) {
      bias.values[i] *= of_data.scale[0] * of_weights.scale[i % of_weights.scale.size()];
    }
  }
  return node.numbers(std::move(bias));
}

struct Convolution {
  TfliteWindow window;
  tfl::Activation activation = tfl::Activation::NONE;
  int64_t groups = 1;
};

// Adds the convolution of these weights, (outputs, inputs of a group, y, x).
Status convolve(const TfliteNode& node, const Convolution& conv, const std::string& weights) {
  DVNN_ASSIGN(const std::string in, node.picture_or_parts(0));
  std::vector<std::string> inputs = {in, weights};
  if (node.has(2)) {
    DVNN_ASSIGN(const std::string bias, bias_of(node, 2, 0, 1));
    inputs.push_back(bias);
  }
  OnnxAttributes attributes = {{"group", conv.groups}};
  const auto& parts = node.parts(0);
  if (!parts) {
    add_window(conv.window, &attributes);
  } else if (conv.window.stride_x == 1 && conv.window.stride_y == 1) {
    add_window_over_parts(conv.window, *parts, node.dims_of(weights), &attributes);
  } else {
    return unsupported(
        "convolves the parts that SPACE_TO_BATCH_ND makes with a stride, which must be 1");
  }
  return node.done_parts(node.activated(node.run("Conv", inputs, attributes), conv.activation),
                         parts);
}

Error no_options() {
  return {ErrorCode::kMalformed, "has no options, which say its strides and pads"};
}

Status check_weights(const std::vector<int64_t>& dims) {
  if (dims.size() == 4 && element_count(dims) > 0) return {};
  return malformed("the weights are " + given_shape_text(dims));
}

// One axis of a transposed convolution: the size of its result, and the elements cut off before and
// after it.
struct Opened {
  int64_t before = 0, after = 0, extra = 0;
};

Result<Opened> opened(int64_t in, int64_t kernel, int64_t stride, int64_t out, bool same) {
  const int64_t back = same ? (out + stride - 1) / stride : (out - kernel + stride) / stride;
  if (back != in || out < 1) {
    return unsupported(format("makes %lld rows or columns of %lld, which a stride of %lld does not",
                              static_cast<long long>(out), static_cast<long long>(in),
                              static_cast<long long>(stride)));
  }
  const int64_t total = (in - 1) * stride + kernel - out;
  Opened cut;
  if (same) cut.before = std::max<int64_t>(total, 0) / 2;
  cut.after = std::max<int64_t>(total - cut.before, 0);
  cut.extra = std::max<int64_t>(-total, 0);
  return cut;
}

// `size`: height and width of the result.
Status deconvolve(const TfliteNode& node, int data, int weights, int bias,
                  const TfliteWindow& window, const std::vector<int64_t>& size,
                  tfl::Activation activation) {
  const std::vector<int64_t> w = node.weight_dims(weights);
  DVNN_TRY(check_weights(w));
  DVNN_TRY(check_window(window));
  DVNN_ASSIGN(const std::string in, node.picture(data));
  DVNN_ASSIGN(const auto dims, node.dims(data));
  const bool same = window.padding == Padding::SAME;
  DVNN_ASSIGN(const Opened y, opened(dims[1], w[1], window.stride_y, size[0], same));
  DVNN_ASSIGN(const Opened x, opened(dims[2], w[2], window.stride_x, size[1], same));
  DVNN_ASSIGN(const std::string turned,
              node.weights(weights, {3, 0, 1, 2}, {w[3], w[0], w[1], w[2]}));
  std::vector<std::string> inputs = {in, turned};
  if (node.has(bias)) {
    DVNN_ASSIGN(const std::string added, bias_of(node, bias, data, weights));
    inputs.push_back(added);
  }
  const OnnxAttributes attributes = {
      {"strides", std::vector<int64_t>{window.stride_y, window.stride_x}},
      {"pads", std::vector<int64_t>{y.before, x.before, y.after, x.after}},
      {"output_padding", std::vector<int64_t>{y.extra, x.extra}}};
  return node.done_picture(
      node.activated(node.run("ConvTranspose", inputs, attributes), activation));
}

// Swaps the last two axes if `turn`.
Result<std::string> turned_matrix(const TfliteNode& node, const std::string& in, bool turn) {
  if (!turn) return in;
  std::vector<int64_t> order;
  for (size_t i = 0; i < node.dims_of(in).size(); ++i) order.push_back(static_cast<int64_t>(i));
  if (order.size() < 2) return malformed("a factor is no matrix");
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return node.run("Transpose", {in}, {{"perm", order}});
}

// Adds a fully connected layer that works on each pixel of a picture with its channels first.
Status connect_pixels(const TfliteNode& node, tfl::Activation activation) {
  const std::vector<int64_t> w = node.weight_dims(1);
  DVNN_ASSIGN(const std::string weights, node.weights(1, {0, 1}, {w[0], w[1], 1, 1}));
  Convolution conv;
  conv.activation = activation;
  return convolve(node, conv, weights);
}

}  // namespace

Status import_tflite_conv(const TfliteNode& node) {
  const auto* o = node.op().options_as_Conv2DOptions();
  if (!o) return no_options();
  const std::vector<int64_t> w = node.weight_dims(1);
  DVNN_TRY(check_weights(w));
  Convolution conv;
  conv.window = {o->padding(), o->stride_h(), o->stride_w(), o->dilation_h(), o->dilation_w()};
  DVNN_TRY(check_window(conv.window));
  conv.activation = o->activation();
  DVNN_TRY(node.picture_or_parts(0));
  DVNN_ASSIGN(const auto in, node.dims(0));
  conv.groups = in[3] / w[3];
  DVNN_ASSIGN(const std::string weights, node.weights(1, {0, 3, 1, 2}, {w[0], w[3], w[1], w[2]}));
  return convolve(node, conv, weights);
}

Status import_tflite_depthwise_conv(const TfliteNode& node) {
  const auto* o = node.op().options_as_DepthwiseConv2DOptions();
  if (!o) return no_options();
  const std::vector<int64_t> w = node.weight_dims(1);
  DVNN_TRY(check_weights(w));
  if (w[0] != 1) return malformed("the weights are " + given_shape_text(w));
  Convolution conv;
  conv.window = {o->padding(), o->stride_h(), o->stride_w(), o->dilation_h(), o->dilation_w()};
  DVNN_TRY(check_window(conv.window));
  conv.activation = o->activation();
  DVNN_TRY(node.picture_or_parts(0));
  DVNN_ASSIGN(const auto in, node.dims(0));
  conv.groups = in[3];
  DVNN_ASSIGN(const std::string weights, node.weights(1, {3, 0, 1, 2}, {w[3], 1, w[1], w[2]}));
  return convolve(node, conv, weights);
}

Status import_tflite_transpose_conv(const TfliteNode& node) {
  const auto* o = node.op().options_as_TransposeConvOptions();
  if (!o) return no_options();
  DVNN_ASSIGN(const auto shape, node.ints(0));
  if (shape.size() != 4) return malformed("the result's shape is " + given_shape_text(shape));
  const TfliteWindow window = {o->padding(), o->stride_h(), o->stride_w(), 1, 1};
  return deconvolve(node, 2, 1, 3, window, {shape[1], shape[2]}, o->activation());
}

// MediaPipe's own operator: its options are the runtime's structure of padding (1: as large as the
// strides say, 2: none), stride_width and stride_height, as it lies in memory.
Status import_tflite_transpose_conv_bias(const TfliteNode& node) {
  DVNN_ASSIGN(const auto options, custom_numbers(node, 3));
  TfliteWindow window = {Padding::SAME, options[2], options[1], 1, 1};
  if (options[0] == 2) window.padding = Padding::VALID;
  DVNN_TRY(check_window(window));
  DVNN_TRY(node.picture(0));
  DVNN_ASSIGN(const auto in, node.dims(0));
  const std::vector<int64_t> w = node.weight_dims(1);
  DVNN_TRY(check_weights(w));
  const auto size = [&](int64_t length, int64_t kernel, int64_t stride) {
    return options[0] == 2 ? (length - 1) * stride + kernel : length * stride;
  };
  return deconvolve(node, 0, 1, 2, window,
                    {size(in[1], w[1], window.stride_y), size(in[2], w[2], window.stride_x)},
                    tfl::Activation::NONE);
}

Status import_tflite_fully_connected(const TfliteNode& node) {
  const auto* o = node.op().options_as_FullyConnectedOptions();
  const tfl::Activation activation = o ? o->activation() : tfl::Activation::NONE;
  if (o && o->weights_format() != 0) {
    return unsupported("its weights are shuffled for one kind of processor");
  }
  const std::vector<int64_t> w = node.weight_dims(1);
  if (w.size() != 2 || element_count(w) < 1) {
    return malformed("the weights are " + given_shape_text(w));
  }
  DVNN_ASSIGN(std::vector<int64_t> dims, node.dims(0));
  const bool keeps = o && o->keep_num_dims() && dims.size() > 2;
  if (keeps && node.is_picture(0) && node.is_constant(1)) return connect_pixels(node, activation);
  DVNN_ASSIGN(std::string in, node.plain(0));
  if (dims.size() != 2 || dims[1] != w[1]) {
    DVNN_ASSIGN(in, node.run("Reshape", {in, node.list({-1, w[1]})}));
  }
  std::vector<std::string> inputs = {in, ""};
  if (node.is_constant(1)) {
    DVNN_ASSIGN(inputs[1], node.weights(1, {0, 1}, w));
  } else {
    DVNN_ASSIGN(inputs[1], node.plain(1));
  }
  if (node.has(2)) {
    DVNN_ASSIGN(const std::string bias, bias_of(node, 2, 0, 1));
    inputs.push_back(bias);
  }
  auto made = node.activated(node.run("Gemm", inputs, {{"transB", int64_t{1}}}), activation);
  if (!keeps || !made.ok()) return node.done(made);
  dims.back() = w[0];
  return node.done(node.run("Reshape", {made.value(), node.list(dims)}));
}

Status import_tflite_batch_matmul(const TfliteNode& node) {
  const auto* o = node.op().options_as_BatchMatMulOptions();
  DVNN_ASSIGN(const std::string first, node.plain(0));
  DVNN_ASSIGN(const std::string second, node.plain(1));
  DVNN_ASSIGN(const std::string a, turned_matrix(node, first, o && o->adj_x()));
  DVNN_ASSIGN(const std::string b, turned_matrix(node, second, o && o->adj_y()));
  return node.done(node.activated(node.run("MatMul", {a, b}), tfl::Activation::NONE));
}

}  // namespace dvnn::import
