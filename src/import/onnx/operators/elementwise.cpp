// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and of several at the same place.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using device::Activation;
using kernels::Curve;
using kernels::Operation;

// Returns a number per channel of `in`, if the constant has that form or is a single number; else
// empty. Exporters also spread the numbers over rows and columns.
std::vector<float> per_channel(const OnnxConstant& constant, const Shape& in) {
  std::vector<float> values = constant.floats();
  const size_t channels = in.channels();
  if (values.size() == 1) return std::vector<float>(channels, values[0]);
  // C x 1 x 1 or C x H x W, with or without the batch.
  const std::vector<int64_t>& d = constant.dims;
  if (d.size() != 3 && (d.size() != 4 || d[0] != 1)) return {};
  const int64_t rows = d[d.size() - 2], columns = d[d.size() - 1];
  const bool fits = d[d.size() - 3] == in.c() && (rows == 1 || rows == in.h()) &&
                    (columns == 1 || columns == in.w());
  if (!fits) return {};
  const size_t plane = static_cast<size_t>(rows * columns);
  for (size_t c = 0; c < channels; ++c) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(c * plane);
    const bool even = std::all_of(first, first + static_cast<std::ptrdiff_t>(plane),
                                  [=](float value) { return value == *first; });
    if (!even) return {};
    values[c] = *first;
  }
  values.resize(channels);
  return values;
}

// Converts value (operation) constant to scale and bias. Returns false if it is no such operation.
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

// Operators that broadcast by their attributes (before opset 7) match the second operand's
// dimensions to the first one's from `axis` on.
Result<int> aligned(const OnnxNode& node, int first, int second) {
  const GraphBuilder& b = node.builder();
  if (node.opset() >= 7 || node.integer("broadcast", 0) == 0) return second;
  std::vector<int64_t> dims = dims_of(b.shape_of(second));
  const int64_t rank = b.shape_of(first).rank, own = static_cast<int64_t>(dims.size());
  const int64_t axis = node.integer("axis", rank - own);
  DVNN_ASSIGN(const int64_t from, onnx_axis(axis, b.shape_of(first).axes() + 1));
  if (from + own > rank) return malformed("the axis leaves no room");
  dims.insert(dims.end(), static_cast<size_t>(rank - from - own), 1);
  return node.builder().reshape(node.name() + "_aligned", second, dims);
}

// Returns a (operation) b, by an operation of the device if there is one.
Result<int> combined(const OnnxNode& node, const std::string& name, Operation operation, int first,
                     int second) {
  GraphBuilder& b = node.builder();
  if (operation == Operation::kAdd) return b.sum(name, first, second);
  return b.binary(name, operation, first, second);
}

// Returns whether the node divides integers, which drops fractions.
bool divides_integers(const OnnxNode& node) {
  return node.type() == "Div" && node.is_integral(0) && node.is_integral(1);
}

// Imports an operation with a number per channel as scale and bias. Returns false if it is none.
Result<bool> import_affine(const OnnxNode& node) {
  if (node.inputs() != 2 || node.is_constant(0) == node.is_constant(1)) return false;
  if (divides_integers(node)) return false;
  const int constant_at = node.is_constant(0) ? 0 : 1;
  DVNN_ASSIGN(const int in, node.value(1 - constant_at));
  DVNN_ASSIGN(const auto constant, node.constant(constant_at));
  const Shape shape = node.builder().shape_of(in);
  if (constant->dims.size() > shape.axes()) return false;  // the result would have more dimensions
  std::vector<float> k, scale, bias;
  if (shape.rank == 4) k = per_channel(*constant, shape);
  const bool vector = shape.rank == 2 && node.type() == "Add" &&
                      static_cast<int>(constant->values.size()) == shape[1] &&
                      (constant->dims.size() <= 1 || constant->dims[0] == 1);
  if (vector) k = constant->floats();  // a known vector as a layer's bias
  if (node.opset() < 7 && node.integer("broadcast", 0) != 0 && node.integer("axis", -1) == 1 &&
      shape.rank == 4 && static_cast<int>(constant->values.size()) == shape[1]) {
    k = constant->floats();
  }
  if (k.empty() || !as_affine(node.type(), constant_at == 0, k, &scale, &bias)) return false;
  DVNN_TRY(node.done(node.builder().affine(node.name(), in, std::move(scale), std::move(bias))));
  return true;
}

// Returns a number that is an input in newer opsets and an attribute in older ones.
Result<float> number_at(const OnnxNode& node, int input, const char* attribute, float fallback) {
  if (!node.has(input)) return node.number(attribute, fallback);
  DVNN_ASSIGN(const auto constant, node.constant(input));
  if (constant->values.size() != 1) return malformed("a bound is no number");
  // An exporter's infinite bound is none.
  constexpr double kMost = double{std::numeric_limits<float>::max()};
  return static_cast<float>(std::clamp(constant->values[0], -kMost, kMost));
}

}  // namespace

static Status import_prelu(const OnnxNode& node, int in) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  if (node.is_constant(1) && shape.rank == 4) {
    DVNN_ASSIGN(const auto slopes, node.constant(1));
    std::vector<float> k = per_channel(*slopes, shape);
    // A list has one slope per channel if it cannot have one per column.
    const bool listed = slopes->dims.size() == 1 && slopes->dims[0] == shape.c() &&
                        (node.opset() < 7 || shape.w() != shape.c());
    if (listed) k = slopes->floats();
    if (!k.empty())
      return node.done(b.activation(node.name(), in, Activation::kPrelu, 0, std::move(k)));
  }
  // max(x, 0) + slope * min(x, 0), with slopes of any shape.
  const std::string& name = node.name();
  const float most = std::numeric_limits<float>::max();
  DVNN_ASSIGN(const int slopes, node.value(1));
  DVNN_ASSIGN(const int above, b.unary(name + "_above", Curve::kClip, in, 0.0f, most));
  DVNN_ASSIGN(const int below, b.unary(name + "_below", Curve::kClip, in, -most, 0.0f));
  DVNN_ASSIGN(const int slanted, b.binary(name + "_slanted", Operation::kMul, below, slopes));
  return node.done(b.sum(name, above, slanted));
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
    const float alpha = node.number("alpha", 1);
    if (alpha == 1) return node.done(b.activation(node.name(), in, Activation::kElu));
    return node.done(b.unary(node.name(), Curve::kElu, in, alpha));
  }
  return import_prelu(node, in);
}

// Bounds that are computed, such as the loudest part of a spectrum less 80 dB.
static Status clip_to_values(const OnnxNode& node, int result) {
  constexpr float kMost = std::numeric_limits<float>::max();
  GraphBuilder& b = node.builder();
  for (int i = 1; i <= 2; ++i) {
    if (!node.has(i)) continue;
    const std::string own = node.name() + (i == 1 ? "_least" : "_most");
    if (node.is_constant(i)) {
      DVNN_ASSIGN(const float least, i == 1 ? number_at(node, 1, "min", -kMost) : -kMost);
      DVNN_ASSIGN(const float most, i == 2 ? number_at(node, 2, "max", kMost) : kMost);
      DVNN_ASSIGN(result, b.unary(own, Curve::kClip, result, least, most));
    } else {
      DVNN_ASSIGN(const int bound, node.value(i));
      const Operation keeps = i == 1 ? Operation::kMax : Operation::kMin;
      DVNN_ASSIGN(result, b.binary(own, keeps, result, bound));
    }
  }
  return node.done(result);
}

Status import_onnx_clip(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  for (int i = 1; i <= 2; ++i) {
    if (node.has(i) && !node.is_constant(i)) return clip_to_values(node, in);
  }
  // Bounds are inputs since opset 11.
  DVNN_ASSIGN(const float least, number_at(node, 1, "min", std::numeric_limits<float>::lowest()));
  DVNN_ASSIGN(const float most, number_at(node, 2, "max", std::numeric_limits<float>::max()));
  if (least == 0 && most == 6) {
    return node.done(node.builder().activation(node.name(), in, Activation::kRelu6));
  }
  if (least == 0 && most == std::numeric_limits<float>::max()) {
    return node.done(node.builder().activation(node.name(), in, Activation::kRelu));
  }
  return node.done(node.builder().unary(node.name(), Curve::kClip, in, least, most));
}

Status import_onnx_unary(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  // Computed as the sum of -x and 0, which yields no negative zero.
  if (node.type() == "Neg")
    return node.done(node.builder().unary(node.name(), Curve::kLine, in, -1));
  const bool smooth = node.type() == "Gelu" && node.text("approximate", "none") == "tanh";
  DVNN_ASSIGN(const Curve curve,
              layers::parse_curve(smooth ? "gelutanh" : lower_case(node.type())));
  float a = 0, b = 0;
  switch (curve) {
    case Curve::kHardSigmoid:
      a = node.number("alpha", 0.2f);
      b = node.number("beta", 0.5f);
      break;
    case Curve::kSelu:
      // The defaults of opset 1 have fewer digits.
      a = node.number("alpha", node.opset() < 6 ? 1.6732f : 1.6732632f);
      b = node.number("gamma", node.opset() < 6 ? 1.0507f : 1.0507010f);
      break;
    case Curve::kShrink:
      a = node.number("bias", 0);
      b = node.number("lambd", 0.5f);
      break;
    case Curve::kCelu:
    case Curve::kSwish:
    case Curve::kThresholdedRelu:
      a = node.number("alpha", 1);
      break;
    default:
      break;
  }
  return node.done(node.builder().unary(node.name(), curve, in, a, b));
}

Status import_onnx_cast(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  // The type of CastLike's second input is unknown, except whether it holds whole numbers.
  const bool like = node.type() == "CastLike";
  const int64_t to = like ? kOnnxFloat : node.integer("to", kOnnxFloat);
  const bool whole = like ? node.is_integral(1) : is_onnx_integer(to);
  if (to == kOnnxBool) {
    DVNN_ASSIGN(const int zero, b.unary(node.name() + "_zero", Curve::kNot, in));
    return node.done(b.unary(node.name(), Curve::kNot, zero));
  }
  if (!whole || node.is_integral(0)) return node.done(in);
  return node.done(b.unary(node.name(), Curve::kTrunc, in));
}

Status import_onnx_binary(const OnnxNode& node) {
  DVNN_ASSIGN(const bool affine, import_affine(node));
  if (affine) return {};
  std::string name = lower_case(node.type());
  if (divides_integers(node)) name = "truncdiv";
  if (name == "mod" && node.integer("fmod", 0) != 0) name = "fmod";
  const bool mean = name == "mean";
  if (name == "sum" || mean) name = "add";
  DVNN_ASSIGN(const auto operation, layers::parse_operation(name));
  DVNN_ASSIGN(int result, node.value(0));
  for (int i = 1; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const int given, node.value(i));
    DVNN_ASSIGN(const int next, aligned(node, result, given));
    const bool last = i + 1 == node.inputs() && !mean;
    const std::string own = last ? node.name() : node.name() + "_" + std::to_string(i);
    DVNN_ASSIGN(result, combined(node, own, operation, result, next));
  }
  if (!mean) return node.done(result);
  const auto count = static_cast<float>(node.inputs());
  DVNN_ASSIGN(const int divisor, node.builder().constant(node.name() + "_count", {1}, {count}));
  return node.done(node.builder().binary(node.name(), Operation::kDiv, result, divisor));
}

Status import_onnx_where(const OnnxNode& node) {
  std::vector<int> inputs;
  for (int i = 0; i < 3; ++i) {
    DVNN_ASSIGN(const int value, node.value(i));
    inputs.push_back(value);
  }
  return node.done(node.builder().cpu(node.name(), layers::WhereAttributes(), std::move(inputs)));
}

}  // namespace dvnn::import
