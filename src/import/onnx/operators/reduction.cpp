// SPDX-License-Identifier: Apache-2.0
// Operators that reduce groups of elements, and orders along an axis.
#include <algorithm>

#include "base/format.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using kernels::Curve;
using layers::Reduction;

// Returns the axes, an input in newer opsets and an attribute in older ones. Empty: all, or none.
Result<std::vector<int>> reduced_axes(const OnnxNode& node, size_t rank) {
  DVNN_ASSIGN(const auto named, node.ints_at(1, "axes"));
  std::vector<int> axes;
  for (int64_t axis : named) {
    DVNN_ASSIGN(const int64_t known, onnx_axis(axis, rank));
    axes.push_back(static_cast<int>(known));
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

// ReduceSumSquare -> sumsquare
Result<Reduction> reduction_of(const std::string& type) {
  return layers::parse_reduction(lower_case(type.substr(std::string("Reduce").size())));
}

// Reduces each element by itself, as a group of one.
Result<int> reduced_alone(const OnnxNode& node, Reduction operation, int in) {
  GraphBuilder& b = node.builder();
  switch (operation) {
    case Reduction::kL1:
    case Reduction::kL2:
      return b.unary(node.name(), Curve::kAbs, in);
    case Reduction::kLogSum:
      return b.unary(node.name(), Curve::kLog, in);
    case Reduction::kSumSquare:
      return b.binary(node.name(), kernels::Operation::kMul, in, in);
    default:
      return in;
  }
}

// Returns whether whole numbers may give fractions, which the result's type drops.
bool makes_fractions(Reduction operation) {
  return operation == Reduction::kMean || operation == Reduction::kL2 ||
         operation == Reduction::kLogSum || operation == Reduction::kLogSumExp;
}

Result<int> axis_of(const OnnxNode& node, int value, int64_t fallback) {
  const size_t rank = node.builder().shape_of(value).axes();
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", fallback), rank));
  return static_cast<int>(axis);
}

}  // namespace

Status import_onnx_reduce(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  DVNN_ASSIGN(const Reduction operation, reduction_of(node.type()));
  DVNN_ASSIGN(const std::vector<int> axes, reduced_axes(node, shape.axes()));
  // Each element is a group of its own.
  const bool alone = axes.empty() && node.integer("noop_with_empty_axes", 0) != 0;
  if (alone) return node.done(reduced_alone(node, operation, in));
  const bool keep = node.integer("keepdims", 1) != 0;
  if (node.is_integral(0) && makes_fractions(operation)) {
    const std::string name = node.name() + "_exact";
    DVNN_ASSIGN(const int exact,
                b.cpu(name, layers::ReduceAttributes{operation, axes, keep}, {in}));
    return node.done(b.unary(node.name(), Curve::kTrunc, exact));
  }
  const bool pools = operation == Reduction::kMean || operation == Reduction::kMax;
  if (!pools || shape.rank != 4 || shape.n() != 1 || axes != std::vector<int>{2, 3}) {
    return node.done(b.cpu(node.name(), layers::ReduceAttributes{operation, axes, keep}, {in}));
  }
  DVNN_ASSIGN(const int mean, b.global_pooling(node.name(), in, operation == Reduction::kMean));
  if (keep) return node.done(mean);
  return node.done(b.reshape(node.name() + "_squeezed", mean, {1, b.shape_of(mean).c()}));
}

Status import_onnx_arg_reduce(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  layers::ArgReduceAttributes a;
  a.smallest = node.type() == "ArgMin";
  DVNN_ASSIGN(a.axis, axis_of(node, in, 0));
  a.keep = node.integer("keepdims", 1) != 0;
  a.last = node.integer("select_last_index", 0) != 0;
  return node.done(node.builder().cpu(node.name(), a, {in}));
}

Status import_onnx_top_k(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  layers::TopKAttributes a;
  DVNN_ASSIGN(a.axis, axis_of(node, in, -1));
  int64_t k = node.integer("k", 0);
  if (node.has(1)) {  // an input since opset 10
    DVNN_ASSIGN(const auto constant, node.constant(1));
    k = constant->values.size() == 1 ? constant->ints()[0] : 0;
  }
  const int64_t most = node.builder().shape_of(in)[a.axis];
  if (k < 1 || k > most) {
    return malformed(format("k is %lld, not 1 to %lld", static_cast<long long>(k),
                            static_cast<long long>(most)));
  }
  a.k = static_cast<int>(k);
  a.smallest = node.integer("largest", 1) == 0;
  DVNN_TRY(node.done(node.builder().cpu(node.name(), a, {in})));
  if (node.outputs() < 2) return {};
  a.places = true;
  return node.done_at(1, node.builder().cpu(node.name() + "_places", a, {in}));
}

Status import_onnx_cum_sum(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto axis, node.constant(1));
  if (axis->values.size() != 1) return malformed("the axis is no number");
  const size_t rank = node.builder().shape_of(in).axes();
  DVNN_ASSIGN(const int64_t along, onnx_axis(axis->ints()[0], rank));
  layers::CumSumAttributes a;
  a.axis = static_cast<int>(along);
  a.exclusive = node.integer("exclusive", 0) != 0;
  a.reverse = node.integer("reverse", 0) != 0;
  return node.done(node.builder().cpu(node.name(), a, {in}));
}

}  // namespace dvnn::import
