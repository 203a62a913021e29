// SPDX-License-Identifier: Apache-2.0
// Operators that reduce groups of elements, and orders along an axis.
#include <algorithm>

#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

// An input whose `axis`, by default the last one, is that of its channels, or any other one.
struct Along {
  std::string entry;
  int64_t axis = 0;
  bool picture = false;
};

Result<Along> along(const TfliteNode& node, int64_t axis) {
  Along at;
  at.picture = node.is_picture(0);
  DVNN_ASSIGN(at.entry, at.picture ? node.picture(0) : node.plain(0));
  DVNN_ASSIGN(at.axis, onnx_axis(axis, node.dims_of(at.entry).size()));
  if (at.picture) at.axis = tflite_picture_axis(at.axis);
  return at;
}

const char* reduction_of(const std::string& type) {
  if (type == "MEAN") return "ReduceMean";
  if (type == "SUM") return "ReduceSum";
  if (type == "REDUCE_MAX") return "ReduceMax";
  return type == "REDUCE_MIN" ? "ReduceMin" : "ReduceProd";
}

// Returns whether the remaining axes of a picture have the same order in both layouts.
bool keeps_order(const std::vector<int64_t>& axes) {
  const auto reduced = [&](int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  return reduced(3) || (reduced(1) && reduced(2));
}

}  // namespace

Status import_tflite_reduce(const TfliteNode& node) {
  const auto* o = node.op().options_as_ReducerOptions();
  const bool keeps = o && o->keep_dims();
  DVNN_ASSIGN(std::vector<int64_t> axes, node.ints(1));
  DVNN_ASSIGN(const auto dims, node.dims(0));
  for (int64_t& axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, dims.size()));
  }
  const bool picture = node.is_picture(0) && (keeps || keeps_order(axes));
  DVNN_ASSIGN(const std::string in, picture ? node.picture(0) : node.plain(0));
  if (axes.empty()) return node.done_at(0, in, picture);
  if (picture) {
    for (int64_t& axis : axes) axis = tflite_picture_axis(axis);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return node.done_at(
      0, node.run(reduction_of(node.type()), {in, node.list(axes)}, {{"keepdims", int64_t{keeps}}}),
      picture && keeps);
}

Status import_tflite_arg(const TfliteNode& node) {
  DVNN_ASSIGN(const auto axis, node.ints(1));
  if (axis.size() != 1) return malformed("the axis is no number");
  DVNN_ASSIGN(const auto dims, node.dims(0));
  DVNN_ASSIGN(int64_t at, onnx_axis(axis[0], dims.size()));
  const bool picture = node.is_picture(0) && keeps_order({at});
  DVNN_ASSIGN(const std::string in, picture ? node.picture(0) : node.plain(0));
  if (picture) at = tflite_picture_axis(at);
  return node.done(node.run(node.type() == "ARG_MAX" ? "ArgMax" : "ArgMin", {in},
                            {{"axis", at}, {"keepdims", int64_t{0}}}));
}

Status import_tflite_softmax(const TfliteNode& node) {
  DVNN_ASSIGN(Along at, along(node, -1));
  const bool logarithm = node.type() == "LOG_SOFTMAX";
  const auto* o = node.op().options_as_SoftmaxOptions();
  const float beta = o && !logarithm ? o->beta() : 1;
  if (beta != 1) {
    DVNN_ASSIGN(at.entry, node.run("Mul", {at.entry, node.number(static_cast<double>(beta))}));
  }
  return node.done_at(
      0, node.run(logarithm ? "LogSoftmax" : "Softmax", {at.entry}, {{"axis", at.axis}}),
      at.picture);
}

Status import_tflite_l2_normalization(const TfliteNode& node) {
  DVNN_ASSIGN(const Along at, along(node, -1));
  return node.done_at(0, node.run("LpNormalization", {at.entry}, {{"axis", at.axis}}), at.picture);
}

Status import_tflite_lrn(const TfliteNode& node) {
  const auto* o = node.op().options_as_LocalResponseNormalizationOptions();
  constexpr int kMost = 1 << 12;
  if (!o || o->radius() < 0 || o->radius() > kMost) return malformed("has no radius of 0 or more");
  DVNN_ASSIGN(const std::string in, node.picture(0));
  // ONNX divides by the number of channels that it sums over.
  const int64_t size = 2 * o->radius() + 1;
  return node.done_picture(node.run("LRN", {in},
                                    {{"size", size},
                                     {"alpha", o->alpha() * static_cast<float>(size)},
                                     {"beta", o->beta()},
                                     {"bias", o->bias()}}));
}

Status import_tflite_top_k(const TfliteNode& node) {
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const auto count, node.ints(1));
  DVNN_ASSIGN(const auto made, node.run("TopK", {in, node.list(count)}, {}, 2));
  DVNN_TRY(node.done(made[0]));
  return node.done_at(1, made[1], false);
}

Status import_tflite_cumsum(const TfliteNode& node) {
  const auto* o = node.op().options_as_CumsumOptions();
  DVNN_ASSIGN(const std::string in, node.plain(0));
  DVNN_ASSIGN(const std::string axis, node.plain(1));
  return node.done(node.run(
      "CumSum", {in, axis},
      {{"exclusive", int64_t{o && o->exclusive()}}, {"reverse", int64_t{o && o->reverse()}}}));
}

}  // namespace dvnn::import
