// SPDX-License-Identifier: Apache-2.0
// Models of 8 bits: their rounding is computed as they define it, in floating point.
#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using kernels::Curve;
using kernels::Operation;

struct Scaling {
  int scale = 0;
  int zero = -1;  // -1: none
};

// A scale or a zero point as a value that goes with `in`: a number, or one for each index of the
// axis.
Result<int> along_axis(const OnnxNode& node, int input, const Shape& in) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int value, node.value(input));
  if (b.shape_of(value).elements() == 1) return value;
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", 1), in.axes()));
  if (b.shape_of(value).rank != 1 || b.shape_of(value)[0] != in[static_cast<int>(axis)]) {
    return Error{ErrorCode::kUnsupported,
                 "scales in blocks, rather than one for each index of an "
                 "axis, are not supported"};
  }
  std::vector<int64_t> dims(in.axes(), 1);
  nth(dims, axis) = in[static_cast<int>(axis)];
  return b.reshape(node.name() + format("_input%d", input), value, dims);
}

Result<Scaling> read_scaling(const OnnxNode& node, int in) {
  const Shape shape = node.builder().shape_of(in);
  Scaling scaling;
  DVNN_ASSIGN(scaling.scale, along_axis(node, 1, shape));
  if (node.has(2)) {
    DVNN_ASSIGN(scaling.zero, along_axis(node, 2, shape));
  }
  return scaling;
}

// The least and the largest number of the type that is made.
Result<std::pair<float, float>> limits_of(const OnnxNode& node) {
  constexpr int64_t kUint8 = 2, kInt8 = 3;
  int64_t type = node.integer("output_dtype", 0);
  if (type == 0 && node.is_constant(2)) {
    DVNN_ASSIGN(const auto zero, node.constant(2));
    type = zero->type;
  }
  if (type == 0 || type == kUint8) return std::pair(0.0f, 255.0f);
  if (type == kInt8) return std::pair(-128.0f, 127.0f);
  return Error{ErrorCode::kUnsupported,
               format("numbers of type %lld are not supported, those of 8 bits are",
                      static_cast<long long>(type))};
}

}  // namespace

Status import_onnx_dequantize(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(int at, node.value(0));
  DVNN_ASSIGN(const Scaling scaling, read_scaling(node, at));
  if (scaling.zero >= 0) {
    DVNN_ASSIGN(at, b.binary(node.name() + "_zero", Operation::kSub, at, scaling.zero));
  }
  return node.done(b.binary(node.name(), Operation::kMul, at, scaling.scale));
}

Status import_onnx_quantize(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  DVNN_ASSIGN(const auto limits, limits_of(node));
  DVNN_ASSIGN(int at, node.value(0));
  DVNN_ASSIGN(const Scaling scaling, read_scaling(node, at));
  DVNN_ASSIGN(at, b.binary(name + "_scaled", Operation::kDiv, at, scaling.scale));
  DVNN_ASSIGN(at, b.unary(name + "_rounded", Curve::kRound, at));
  if (scaling.zero >= 0) {
    DVNN_ASSIGN(at, b.binary(name + "_zero", Operation::kAdd, at, scaling.zero));
  }
  return node.done(b.unary(name, Curve::kClip, at, limits.first, limits.second));
}

}  // namespace dvnn::import
