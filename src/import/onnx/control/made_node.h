// SPDX-License-Identifier: Apache-2.0
// A node that the model does not have. Private to the ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/model.h"

namespace dvnn::import {

// AttributeProto's types, by onnx.proto3.
constexpr int kIntAttribute = 2;
constexpr int kIntsAttribute = 7;

/// Returns a node with one output, after which it is named.
inline onnx::NodeProto made_node(const char* type, const std::vector<std::string>& inputs,
                                 const std::string& output) {
  onnx::NodeProto proto;
  proto.set_op_type(type);
  proto.set_name(output);
  for (const std::string& input : inputs) proto.add_input(input);
  proto.add_output(output);
  return proto;
}

/// Adds a whole number, or several, to a node.
inline void add_attribute(const char* name, int64_t value, onnx::NodeProto* proto) {
  onnx::AttributeProto* attribute = proto->add_attribute();
  attribute->set_name(name);
  attribute->set_type(kIntAttribute);
  attribute->set_i(value);
}
inline void add_attribute(const char* name, const std::vector<int64_t>& values,
                          onnx::NodeProto* proto) {
  onnx::AttributeProto* attribute = proto->add_attribute();
  attribute->set_name(name);
  attribute->set_type(kIntsAttribute);
  for (int64_t value : values) attribute->add_ints(value);
}

/// Returns whole numbers as a constant that made nodes read: axes, shapes, lengths.
inline OnnxConstant whole_numbers(const std::vector<int64_t>& values) {
  OnnxConstant constant;
  constant.dims = {static_cast<int64_t>(values.size())};
  constant.values.assign(values.begin(), values.end());
  constant.integral = true;
  return constant;
}

}  // namespace dvnn::import
