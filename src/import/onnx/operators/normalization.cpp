// SPDX-License-Identifier: Apache-2.0
// Operators that normalise groups of elements.
#include <cmath>
#include <limits>
#include <numeric>

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using kernels::Operation;
using layers::Reduction;

// Returns x scale + bias, which may repeat along axes; either may be absent.
Result<int> scaled_and_moved(const OnnxNode& node, int x, int scale_input, int bias_input,
                             const std::vector<int64_t>& dims) {
  GraphBuilder& b = node.builder();
  auto operand = [&](int input) -> Result<int> {
    DVNN_ASSIGN(const int value, node.value(input));
    if (dims.empty()) return value;
    return b.reshape(node.name() + "_in" + std::to_string(input), value, dims);
  };
  if (node.has(scale_input)) {
    DVNN_ASSIGN(const int scale, operand(scale_input));
    const bool last = !node.has(bias_input);
    DVNN_ASSIGN(x,
                b.binary(last ? node.name() : node.name() + "_scaled", Operation::kMul, x, scale));
  }
  if (!node.has(bias_input)) return x;
  DVNN_ASSIGN(const int bias, operand(bias_input));
  return b.binary(node.name(), Operation::kAdd, x, bias);
}

std::vector<int> axes_from(int64_t first, int rank) {
  std::vector<int> axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), static_cast<int>(first));
  return axes;
}

// Returns (1, C, 1, ...): the dimensions of one number per channel of `shape`.
std::vector<int64_t> channel_dims(const Shape& shape) {
  std::vector<int64_t> dims(shape.axes(), 1);
  dims[1] = shape[1];
  return dims;
}

Result<int> with_channels(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  if (node.builder().shape_of(in).rank >= 2) return in;
  return unsupported("the input has no channels");
}

Result<int> reduced(const OnnxNode& node, const std::string& suffix, int in, Reduction operation,
                    std::vector<int> axes) {
  return node.builder().cpu(node.name() + suffix,
                            layers::ReduceAttributes{operation, std::move(axes), true}, {in});
}

// Imports BatchNormalization with the statistics of the input itself. Its further outputs are
// running means of the given statistics and of these.
Status import_training_batch_norm(const OnnxNode& node, int in, float epsilon) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  std::vector<int> axes = axes_from(0, shape.rank);
  axes.erase(axes.begin() + 1);
  const std::string& name = node.name();
  DVNN_ASSIGN(const int standard,
              b.cpu(name + "_standard", layers::StandardizeAttributes{axes, epsilon, true}, {in}));
  DVNN_TRY(node.done(scaled_and_moved(node, standard, 1, 2, channel_dims(shape))));
  if (node.outputs() == 1) return {};
  DVNN_ASSIGN(const int mean, reduced(node, "_mean", in, Reduction::kMean, axes));
  DVNN_ASSIGN(const int from_mean, b.binary(name + "_from_mean", Operation::kSub, in, mean));
  DVNN_ASSIGN(const int squares,
              b.binary(name + "_squares", Operation::kMul, from_mean, from_mean));
  DVNN_ASSIGN(const int variance, reduced(node, "_variance", squares, Reduction::kMean, axes));
  const float momentum = node.number("momentum", 0.9f);
  const int statistics[] = {mean, variance};
  for (int i = 0; i < 2; ++i) {
    const std::string own = name + (i == 0 ? "_running_mean" : "_running_variance");
    DVNN_ASSIGN(const int flat, b.reshape(own + "_now", statistics[i], {shape[1]}));
    DVNN_ASSIGN(const int before, node.value(3 + i));
    DVNN_ASSIGN(const int result,
                b.combined(own, Operation::kAdd, {momentum, 1 - momentum}, {before, flat}));
    DVNN_TRY(node.done_at(1 + i, result));
  }
  return {};
}

}  // namespace

Status import_onnx_batch_norm(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<float> parts[4];  // scale, bias, mean, variance
  const Shape& shape = node.builder().shape_of(in);
  if (shape.rank < 2) return unsupported("the input has no channels");
  const float epsilon = node.number("epsilon", 1e-5f);
  if (node.integer("training_mode", 0) != 0) return import_training_batch_norm(node, in, epsilon);
  for (int i = 0; i < 4; ++i) {
    DVNN_ASSIGN(const auto constant, node.constant(i + 1));
    parts[i] = constant->floats();
    if (static_cast<int>(parts[i].size()) != shape[1]) {
      return malformed(
          format("input %d has %zu numbers for %d channels", i + 1, parts[i].size(), shape[1]));
    }
  }
  std::vector<float> scale(parts[0].size()), bias(parts[0].size());
  for (size_t c = 0; c < scale.size(); ++c) {
    if (!(parts[3][c] + epsilon > 0)) {
      return malformed(format("variance %g of channel %zu is not positive",
                              static_cast<double>(parts[3][c]), c));
    }
    scale[c] = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    bias[c] = parts[1][c] - parts[2][c] * scale[c];
  }
  return node.done(node.builder().affine(node.name(), in, std::move(scale), std::move(bias)));
}

Status import_onnx_instance_norm(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, with_channels(node));
  const Shape shape = node.builder().shape_of(in);
  const float epsilon = node.number("epsilon", 1e-5f);
  DVNN_ASSIGN(const int standard,
              node.builder().cpu(
                  node.name() + "_standard",
                  layers::StandardizeAttributes{axes_from(2, shape.rank), epsilon, true}, {in}));
  return node.done(scaled_and_moved(node, standard, 1, 2, channel_dims(shape)));
}

Status import_onnx_group_norm(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, with_channels(node));
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  const int64_t groups = node.integer("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0) {
    return malformed(
        format("%lld groups do not fit %d channels", static_cast<long long>(groups), shape[1]));
  }
  const std::string& name = node.name();
  const int64_t rest = shape.elements() / shape[0] / groups;
  DVNN_ASSIGN(const int parts, b.reshape(name + "_groups", in, {shape[0], groups, rest}));
  const float epsilon = node.number("epsilon", 1e-5f);
  DVNN_ASSIGN(
      const int standard,
      b.cpu(name + "_standard", layers::StandardizeAttributes{{2}, epsilon, true}, {parts}));
  DVNN_ASSIGN(int result, b.reshape(name + "_joined", standard, dims_of(shape)));
  // One scale per group before opset 21, one per channel since.
  DVNN_ASSIGN(const int scale, node.value(1));
  if (b.shape_of(scale).elements() == shape[1]) {
    return node.done(scaled_and_moved(node, result, 1, 2, channel_dims(shape)));
  }
  DVNN_ASSIGN(result, b.reshape(name + "_regrouped", result, {shape[0], groups, rest}));
  DVNN_ASSIGN(result, scaled_and_moved(node, result, 1, 2, {1, groups, 1}));
  return node.done(b.reshape(name + "_whole", result, dims_of(shape)));
}

// LayerNormalization and RMSNormalization.
Status import_onnx_layer_norm(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  const int rank = b.shape_of(in).rank;
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", -1), b.shape_of(in).axes()));
  const std::vector<int> axes = axes_from(axis, rank);
  const float epsilon = node.number("epsilon", 1e-5f);
  const bool centre = node.type() == "LayerNormalization";
  const std::string& name = node.name();
  DVNN_ASSIGN(
      const int standard,
      b.cpu(name + "_standard", layers::StandardizeAttributes{axes, epsilon, centre}, {in}));
  DVNN_TRY(node.done(scaled_and_moved(node, standard, 1, 2, {})));
  if (node.outputs() == 1) return {};
  DVNN_ASSIGN(const int mean, reduced(node, "_mean", in, Reduction::kMean, axes));
  DVNN_TRY(node.done_at(1, mean));
  if (node.outputs() == 2) return {};
  // 1 / sqrt(variance + epsilon)
  DVNN_ASSIGN(const int from_mean, b.binary(name + "_from_mean", Operation::kSub, in, mean));
  DVNN_ASSIGN(const int squares,
              b.binary(name + "_squares", Operation::kMul, from_mean, from_mean));
  DVNN_ASSIGN(const int variance, reduced(node, "_variance", squares, Reduction::kMean, axes));
  DVNN_ASSIGN(const int least, b.constant(name + "_epsilon", {1}, {epsilon}));
  DVNN_ASSIGN(const int above, b.binary(name + "_above", Operation::kAdd, variance, least));
  DVNN_ASSIGN(const int root, b.unary(name + "_deviation", kernels::Curve::kSqrt, above));
  return node.done_at(2, b.unary(name + "_inverse", kernels::Curve::kReciprocal, root));
}

Status import_onnx_mean_variance(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  std::vector<int64_t> named = node.integers("axes");
  if (named.empty()) named = {0, 2, 3};
  std::vector<int> axes;
  for (int64_t axis : named) {
    DVNN_ASSIGN(const int64_t known, onnx_axis(axis, b.shape_of(in).axes()));
    axes.push_back(static_cast<int>(known));
  }
  // ONNX defines the deviation plus 1e-9, this layer the variance plus the square of that: the same
  // without deviation, and no difference for deviations of binary16 values.
  constexpr float kEpsilon = 1e-18f;
  return node.done(b.cpu(node.name(), layers::StandardizeAttributes{axes, kEpsilon, true}, {in}));
}

Status import_onnx_lrn(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  layers::LrnAttributes lrn;
  const int64_t size = node.integer("size", 0);
  constexpr int64_t kMost = 1 << 15;
  if (size < 1 || size > kMost) return malformed("size is missing or too large");
  lrn.size = static_cast<int>(size);
  lrn.alpha = node.number("alpha", 1e-4f);
  lrn.beta = node.number("beta", 0.75f);
  lrn.bias = node.number("bias", 1);
  return node.done(node.builder().cpu(node.name(), lrn, {in}));
}

// Divides x by its norm along an axis.
Status import_onnx_lp_norm(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  const size_t rank = b.shape_of(in).axes();
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", -1), rank));
  const Reduction norm = node.integer("p", 2) == 1 ? Reduction::kL1 : Reduction::kL2;
  DVNN_ASSIGN(const int length, reduced(node, "_length", in, norm, {static_cast<int>(axis)}));
  // A vector of length 0 stays 0, as in ONNX Runtime, instead of becoming NaN.
  constexpr float kLeast = 1e-30f;
  DVNN_ASSIGN(const int divisor, b.unary(node.name() + "_norm", kernels::Curve::kClip, length,
                                         kLeast, std::numeric_limits<float>::max()));
  return node.done(b.binary(node.name(), Operation::kDiv, in, divisor));
}

// Softmax, LogSoftmax and Hardmax.
Status import_onnx_softmax(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  const std::vector<int64_t> dims = dims_of(b.shape_of(in));
  constexpr int64_t kPerAxis = 13;  // the opset since which one axis is normalised
  const bool modern = node.opset() >= kPerAxis;
  DVNN_ASSIGN(int64_t axis, onnx_axis(node.integer("axis", modern ? -1 : 1), dims.size()));
  int value = in;
  bool flat = false;
  if (!modern) {  // all axes from this one on are normalised together
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      (static_cast<int64_t>(i) < axis ? outer : inner) *= dims[i];
    }
    flat = inner != nth(dims, axis);
    if (flat) {
      DVNN_ASSIGN(value, b.reshape(node.name() + "_flat", in, {outer, inner}));
      axis = 1;
    }
  }
  const std::string name = flat ? node.name() + "_rows" : node.name();
  const int along = static_cast<int>(axis);
  if (node.type() == "Softmax") {
    DVNN_ASSIGN(value, b.softmax(name, value, axis));
  } else if (node.type() == "LogSoftmax") {
    DVNN_ASSIGN(const int log_sum,
                reduced(node, "_log_sum", value, Reduction::kLogSumExp, {along}));
    DVNN_ASSIGN(value, b.binary(name, Operation::kSub, value, log_sum));
  } else {
    const int64_t count = b.shape_of(value)[along];
    std::vector<float> numbers(b.shape_of(value).extent(along));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    std::vector<int64_t> shape(b.shape_of(value).axes(), 1);
    nth(shape, axis) = count;
    DVNN_ASSIGN(const int places, b.constant(name + "_places", shape, std::move(numbers)));
    DVNN_ASSIGN(const int best,
                b.cpu(name + "_best", layers::ArgReduceAttributes{false, along}, {value}));
    DVNN_ASSIGN(value, b.binary(name, Operation::kEqual, best, places));
  }
  if (!flat) return node.done(value);
  return node.done(b.reshape(node.name(), value, dims));
}

}  // namespace dvnn::import
