// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/operators.h"

#include <string>

namespace dvnn::import {
namespace {

bool keeps_dimensions(const OnnxNode& node) {
  return node.integer("keepdims", 1) != 0;
}

bool are_integral(const OnnxNode& node, int first) {
  for (int i = first; i < node.inputs(); ++i) {
    if (!node.is_integral(i)) return false;
  }
  return true;
}

}  // namespace

bool never(const OnnxNode&) {
  return false;
}

bool always(const OnnxNode&) {
  return true;
}

bool whole_as_first(const OnnxNode& node) {
  return node.is_integral(0);
}

bool whole_as_second(const OnnxNode& node) {
  return node.is_integral(1);
}

bool whole_as_third(const OnnxNode& node) {
  return node.is_integral(2);
}

bool whole_as_all(const OnnxNode& node) {
  return are_integral(node, 0);
}

bool whole_as_chosen(const OnnxNode& node) {
  return are_integral(node, 1);
}

bool whole_as_sampled(const OnnxNode& node) {
  return node.text("mode", "nearest") == "nearest" && node.is_integral(0);
}

bool whole_as_type(const OnnxNode& node) {
  return is_onnx_integer(node.integer("to", kOnnxFloat));
}

bool scalar_of_scalars(const OnnxNode& node) {
  for (int i = 0; i < node.inputs(); ++i) {
    if (node.has(i) && node.rank_of(i) != 0) return false;
  }
  return node.inputs() > 0;
}

bool scalar_if_reduced(const OnnxNode& node) {
  return !keeps_dimensions(node) && scalar_if_squeezed(node);
}

bool scalar_if_searched(const OnnxNode& node) {
  return !keeps_dimensions(node) && node.rank_of(0) <= 1;
}

bool scalar_if_squeezed(const OnnxNode& node) {
  const auto axes = node.ints_at(1, "axes");
  return !axes.ok() || axes.value().empty() || axes.value().size() >= node.rank_of(0);
}

bool scalar_if_gathered(const OnnxNode& node) {
  return node.rank_of(0) == 1 && node.rank_of(1) == 0;
}

bool scalar_if_one_place(const OnnxNode& node) {
  return node.rank_of(1) == 1;
}

bool scalar_if_vectors(const OnnxNode& node) {
  return node.rank_of(0) == 1 && node.rank_of(1) == 1;
}

bool scalar_if_summed(const OnnxNode& node) {
  const std::string equation = node.text("equation", "");
  const size_t arrow = equation.find("->");
  return arrow != std::string::npos &&
         equation.find_first_not_of(' ', arrow + 2) == std::string::npos;
}

bool scalar_if_shaped(const OnnxNode& node) {
  const auto dims = node.ints_at(1, "shape");
  return dims.ok() && dims.value().empty();
}

}  // namespace dvnn::import
