// SPDX-License-Identifier: Apache-2.0
// Operators with weights: convolutions and products of matrices.
#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/operators.h"
#include "import/onnx/operators/windows.h"
#include "import/options.h"

namespace dvnn::import {
namespace {

Result<std::vector<float>> optional_floats(const OnnxNode& node, int input) {
  if (!node.has(input)) return std::vector<float>();
  DVNN_ASSIGN(const auto constant, node.constant(input));
  return constant->floats();
}

// Returns the kernel. A 1-D convolution is one over a picture of one row.
Result<std::shared_ptr<const OnnxConstant>> kernel_of(const OnnxNode& node) {
  DVNN_ASSIGN(const auto given, node.constant(1));
  if (given->dims.size() == 4) return given;
  if (given->dims.size() == 3) {
    auto weights = std::make_shared<OnnxConstant>(*given);
    weights->dims.insert(weights->dims.begin() + 2, 1);
    return std::shared_ptr<const OnnxConstant>(std::move(weights));
  }
  return unsupported(
      "the weights are " + given_shape_text(given->dims) +
      ": a convolution over volumes, where those over lines and pictures are supported");
}

// Returns kernel, stride, dilation and groups of a convolution with these weights.
Result<ConvSpec> conv_spec(const OnnxNode& node, const OnnxConstant& weights, bool transposed) {
  ConvSpec spec;
  spec.groups = node.integer("group", 1);
  DVNN_TRY(check_onnx_number("the number of groups", spec.groups, 1));
  spec.outputs = transposed ? weights.dims[1] * spec.groups : weights.dims[0];
  spec.kernel_y = weights.dims[2];
  spec.kernel_x = weights.dims[3];
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  if (!kernel.empty() && !std::equal(kernel.rbegin(), kernel.rend(), weights.dims.rbegin())) {
    return malformed("kernel_shape is not that of the weights");
  }
  DVNN_ASSIGN(const auto strides, onnx_pair(node, "strides", 1));
  DVNN_ASSIGN(const auto dilations, onnx_pair(node, "dilations", 1));
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  spec.dilation_y = dilations[0], spec.dilation_x = dilations[1];
  for (int64_t stride : strides) DVNN_TRY(check_onnx_number("the stride", stride, 1));
  for (int64_t dilation : dilations) DVNN_TRY(check_onnx_number("the dilation", dilation, 1));
  return spec;
}

void set_pads(const OnnxPads& pads, ConvSpec* spec) {
  spec->left = pads.left, spec->right = pads.right;
  spec->top = pads.top, spec->bottom = pads.bottom;
}

int64_t reach_x(const ConvSpec& spec) {
  return (spec.kernel_x - 1) * spec.dilation_x + 1;
}

int64_t reach_y(const ConvSpec& spec) {
  return (spec.kernel_y - 1) * spec.dilation_y + 1;
}

// Computes the pads of a transposed convolution along one axis from the size of its result.
void pads_for_size(int64_t wanted, int64_t in, int64_t stride, int64_t reach, int64_t extra,
                   bool more_before, int64_t* before, int64_t* after) {
  const int64_t total = std::max<int64_t>(stride * (in - 1) + extra + reach - wanted, 0);
  *before = more_before ? total - total / 2 : total / 2;
  *after = total - *before;
}

struct Extra {
  int64_t x = 0, y = 0;
};

Status transposed_pads(const OnnxNode& node, const Shape& in, ConvSpec* spec, Extra* extra) {
  DVNN_ASSIGN(const auto padding, onnx_pair(node, "output_padding", 0));
  for (int64_t pad : padding) DVNN_TRY(check_onnx_number("output_padding", pad, 0));
  *extra = {padding[1], padding[0]};
  const std::string mode = node.text("auto_pad", "NOTSET");
  std::vector<int64_t> size = node.integers("output_shape");
  for (int64_t side : size) DVNN_TRY(check_onnx_number("output_shape", side, 1));
  if (size.size() == 1) size.insert(size.begin(), 1);
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (size.empty() && !same) {
    DVNN_ASSIGN(const OnnxPads pads, onnx_pads(node, in, 1, 1, 1, 1));
    set_pads(pads, spec);
    return {};
  }
  if (size.size() > 2) size.erase(size.begin(), size.end() - 2);
  if (size.empty()) size = {in.h() * spec->stride_y, in.w() * spec->stride_x};
  const bool more_before = mode != "SAME_UPPER";
  const int64_t wide = spec->stride_x * (in.w() - 1) + reach_x(*spec) + extra->x;
  const int64_t high = spec->stride_y * (in.h() - 1) + reach_y(*spec) + extra->y;
  // Results beyond the last window are empty.
  extra->x += std::max<int64_t>(size[1] - wide, 0);
  extra->y += std::max<int64_t>(size[0] - high, 0);
  pads_for_size(size[1], in.w(), spec->stride_x, reach_x(*spec), extra->x, more_before, &spec->left,
                &spec->right);
  pads_for_size(size[0], in.h(), spec->stride_y, reach_y(*spec), extra->y, more_before, &spec->top,
                &spec->bottom);
  return {};
}

// Limits pads of a transposed convolution to what the kernel's reach allows. Returns the rest,
// which must be cut off the result.
OnnxPads pads_beyond(ConvSpec* spec) {
  OnnxPads beyond;
  const auto limit = [](int64_t reach, int64_t* pad, int64_t* rest) {
    *rest = std::max<int64_t>(*pad - (reach - 1), 0);
    *pad -= *rest;
  };
  limit(reach_x(*spec), &spec->left, &beyond.left);
  limit(reach_x(*spec), &spec->right, &beyond.right);
  limit(reach_y(*spec), &spec->top, &beyond.top);
  limit(reach_y(*spec), &spec->bottom, &beyond.bottom);
  return beyond;
}

// Multiplies rows of `in`, of rank 2, by a matrix (k, n) and adds a bias: as a fully connected
// layer if there is one row, else on the CPU.
Result<int> times_matrix(const OnnxNode& node, int in, const std::vector<float>& matrix, int64_t k,
                         int64_t n, std::vector<float> bias) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  if (shape.elements() == k && GraphBuilder::may_connect(k, n)) {
    std::vector<float> ordered(matrix.size());
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t o = 0; o < n; ++o) {
        nth(ordered, o * k + i) = nth(matrix, i * n + o);
      }
    }
    return b.inner_product(node.name(), in, n, std::move(ordered), std::move(bias));
  }
  const std::string& name = node.name();
  DVNN_ASSIGN(const int second, b.constant(name + "_matrix", {k, n}, matrix));
  if (bias.empty()) return b.cpu(name, layers::MatMulAttributes(), {in, second});
  DVNN_ASSIGN(const int product,
              b.cpu(name + "_product", layers::MatMulAttributes(), {in, second}));
  DVNN_ASSIGN(const int added, b.constant(name + "_bias", {n}, std::move(bias)));
  return b.binary(name, kernels::Operation::kAdd, product, added);
}

// Returns a matrix, transposed if the attribute says so.
Result<int> maybe_transposed(const OnnxNode& node, int input, const char* attribute) {
  DVNN_ASSIGN(const int value, node.value(input));
  if (node.integer(attribute, 0) == 0) return value;
  return node.builder().permute(node.name() + "_" + attribute, value, {1, 0});
}

Result<int> scaled(const OnnxNode& node, const std::string& name, int value, float factor) {
  if (factor == 1) return value;
  DVNN_ASSIGN(const int by, node.builder().constant(name + "_factor", {1}, {factor}));
  return node.builder().binary(name, kernels::Operation::kMul, value, by);
}

// Computes alpha A B + beta C of matrices that are not constants.
Status general_gemm(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  DVNN_ASSIGN(const int first, maybe_transposed(node, 0, "transA"));
  DVNN_ASSIGN(const int second, maybe_transposed(node, 1, "transB"));
  DVNN_ASSIGN(const int product,
              b.cpu(name + "_product", layers::MatMulAttributes(), {first, second}));
  DVNN_ASSIGN(const int result, scaled(node, name + "_alpha", product, node.number("alpha", 1)));
  if (!node.has(2)) return node.done(result);
  DVNN_ASSIGN(const int third, node.value(2));
  DVNN_ASSIGN(const int added, scaled(node, name + "_beta", third, node.number("beta", 1)));
  return node.done(b.sum(name, result, added));
}

}  // namespace

// Returns whether a convolution over a line has a longer kernel than the builder takes, and steps
// that make it shorter: the spectra of audio models are such.
static bool is_long(const ConvSpec& spec, const Shape& in) {
  constexpr int64_t kMostTaken = 64;
  return spec.kernel_x > kMostTaken && spec.kernel_y == 1 && in.h() == 1 && in.n() == 1 &&
         spec.stride_x > 1 && spec.dilation_x == 1 && spec.groups == 1 && spec.top == 0 &&
         spec.bottom == 0 && in.w() + spec.left + spec.right >= spec.kernel_x;
}

// Convolves a line by a long kernel: `stride` elements in a row become channels of one, so that the
// kernel is shorter by the stride, and its own stride is 1. `pads` of `spec` are zeros beside it.
static Result<int> convolve_long(const OnnxNode& node, const std::string& name, int in,
                                 ConvSpec spec, const std::vector<float>& weights,
                                 std::vector<float> bias) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  const int64_t c = shape.c(), w = shape.w(), k = spec.kernel_x, s = spec.stride_x;
  const int64_t made = (w + spec.left + spec.right - k) / s + 1, taps = (k + s - 1) / s;
  const int64_t wanted = (made - 1 + taps) * s, after = wanted - spec.left - w;
  DVNN_ASSIGN(int line, b.pad(name + "_padded", in, spec.left, std::max<int64_t>(after, 0), 0, 0));
  DVNN_ASSIGN(line,
              b.crop(name + "_cut", line, {0, 0, 0, 0}, {0, 0, 0, std::max<int64_t>(-after, 0)}));
  DVNN_ASSIGN(line, b.reshape(name + "_rows", line, {1, c, wanted / s, s}));
  DVNN_ASSIGN(line, b.permute(name + "_columns", line, {0, 1, 3, 2}));
  DVNN_ASSIGN(line, b.reshape(name + "_channels", line, {1, c * s, 1, wanted / s}));
  std::vector<float> kernels(static_cast<size_t>(spec.outputs * c * s * taps), 0.0f);
  for (int64_t row = 0; row < spec.outputs * c; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      nth(kernels, (row * s + i % s) * taps + i / s) = nth(weights, row * k + i);
    }
  }
  spec.kernel_x = taps, spec.stride_x = 1, spec.left = spec.right = 0;
  return b.convolution(name, line, spec, std::move(kernels), std::move(bias));
}

Status import_onnx_conv(const OnnxNode& node) {
  DVNN_ASSIGN(const auto weights, kernel_of(node));
  DVNN_ASSIGN(ConvSpec spec, conv_spec(node, *weights, false));
  DVNN_ASSIGN(const auto bias, optional_floats(node, 2));
  return over_pictures(node, [&](const std::string& name, int in) -> Result<int> {
    const Shape& shape = node.builder().shape_of(in);
    DVNN_ASSIGN(const OnnxPads pads,
                onnx_pads(node, shape, reach_x(spec), reach_y(spec), spec.stride_x, spec.stride_y));
    set_pads(pads, &spec);
    if (is_long(spec, shape)) return convolve_long(node, name, in, spec, weights->floats(), bias);
    return node.builder().convolution(name, in, spec, weights->floats(), bias);
  });
}

Status import_onnx_conv_transpose(const OnnxNode& node) {
  DVNN_ASSIGN(const auto weights, kernel_of(node));
  DVNN_ASSIGN(ConvSpec spec, conv_spec(node, *weights, true));
  DVNN_ASSIGN(const auto bias, optional_floats(node, 2));
  return over_pictures(node, [&](const std::string& name, int in) -> Result<int> {
    Extra extra;
    DVNN_TRY(transposed_pads(node, node.builder().shape_of(in), &spec, &extra));
    const OnnxPads beyond = pads_beyond(&spec);
    GraphBuilder& b = node.builder();
    const bool cuts = beyond.left + beyond.right + beyond.top + beyond.bottom > 0;
    const std::string own = cuts ? name + "_uncut" : name;
    DVNN_ASSIGN(const int made,
                b.deconvolution(own, in, spec, extra.x, extra.y, weights->floats(), bias));
    return b.crop(name, made, {0, 0, beyond.top, beyond.left}, {0, 0, beyond.bottom, beyond.right});
  });
}

Status import_onnx_gemm(const OnnxNode& node) {
  const bool known = node.is_constant(1) && (!node.has(2) || node.is_constant(2));
  DVNN_ASSIGN(const int in, node.value(0));
  if (!known || node.integer("transA", 0) != 0) return general_gemm(node);
  DVNN_ASSIGN(const auto weights, node.constant(1));
  if (weights->dims.size() != 2) return malformed("B is no matrix");
  const bool transposed = node.integer("transB", 0) != 0;
  const int64_t n = weights->dims[transposed ? 0 : 1], k = weights->dims[transposed ? 1 : 0];
  const float alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  DVNN_ASSIGN(auto bias, optional_floats(node, 2));
  if (bias.size() == 1) bias.resize(static_cast<size_t>(n), bias[0]);
  if (!bias.empty()) {
    // A column has one number for each row, even if there are as many columns.
    DVNN_ASSIGN(const auto third, node.constant(2));
    const bool column = third->values.size() > 1 && third->dims.back() == 1;
    if (column || static_cast<int64_t>(bias.size()) != n) return general_gemm(node);
  }
  for (float& b : bias) b *= beta;
  std::vector<float> matrix(weights->values.size());
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t o = 0; o < n; ++o) {
      const double w = nth(weights->values, transposed ? o * k + i : i * n + o);
      nth(matrix, i * n + o) = alpha * static_cast<float>(w);
    }
  }
  return node.done(times_matrix(node, in, matrix, k, n, std::move(bias)));
}

Result<int> onnx_product(const OnnxNode& node, const std::string& name, int in,
                         const OnnxConstant& weights) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int matrix, b.constant(name + "_matrix", weights.dims, weights.floats()));
  return b.cpu(name, layers::MatMulAttributes(), {in, matrix});
}

// Computes alpha A B of matrices whose axes come in another order.
Status import_microsoft_fused_matmul(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  int operands[2];
  for (int i = 0; i < 2; ++i) {
    DVNN_ASSIGN(operands[i], node.value(i));
    const int64_t rank = b.shape_of(operands[i]).rank;
    std::vector<int64_t> order;
    for (int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
    // transBatch: the first axis belongs before the last one.
    if (node.integer(i == 0 ? "transBatchA" : "transBatchB", 0) != 0 && rank > 2) {
      std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    }
    if (node.integer(i == 0 ? "transA" : "transB", 0) != 0 && rank > 1) {
      std::swap(nth(order, rank - 1), nth(order, rank - 2));
    }
    if (std::is_sorted(order.begin(), order.end())) continue;
    DVNN_ASSIGN(operands[i], b.permute(node.name() + format("_in%d", i), operands[i], order));
  }
  DVNN_ASSIGN(const int product, b.cpu(node.name() + "_product", layers::MatMulAttributes(),
                                       {operands[0], operands[1]}));
  return node.done(scaled(node, node.name(), product, node.number("alpha", 1)));
}

Status import_onnx_matmul(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(int first, node.value(0));
  const Shape shape = b.shape_of(first);
  if (node.is_constant(1) && shape.rank <= 2) {
    DVNN_ASSIGN(const auto weights, node.constant(1));
    if (weights->dims.size() == 2 && shape.elements() == weights->dims[0]) {
      const bool vector = shape.rank == 1;  // so the result is one, too
      if (vector) {
        DVNN_ASSIGN(first, b.reshape(node.name() + "_row", first, {1, shape[0]}));
      }
      DVNN_ASSIGN(const int product, times_matrix(node, first, weights->floats(), weights->dims[0],
                                                  weights->dims[1], {}));
      if (!vector) return node.done(product);
      return node.done(b.reshape(node.name() + "_vector", product, {weights->dims[1]}));
    }
  }
  DVNN_ASSIGN(int second, node.value(1));
  // A vector is a matrix of one row or one column, which the result lacks.
  const std::string& name = node.name();
  const bool row = shape.rank == 1, column = b.shape_of(second).rank == 1;
  if (row) {
    DVNN_ASSIGN(first, b.reshape(name + "_row", first, {1, shape[0]}));
  }
  if (column) {
    DVNN_ASSIGN(second, b.reshape(name + "_column", second, {b.shape_of(second)[0], 1}));
  }
  DVNN_ASSIGN(const int product, b.cpu(row || column ? name + "_product" : name,
                                       layers::MatMulAttributes(), {first, second}));
  if (!row && !column) return node.done(product);
  std::vector<int64_t> dims = dims_of(b.shape_of(product));
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  if (dims.empty()) dims = {1};
  return node.done(b.reshape(name, product, dims));
}

}  // namespace dvnn::import
