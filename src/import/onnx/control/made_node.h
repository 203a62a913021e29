// SPDX-License-Identifier: Apache-2.0
// A node that the model does not have. Private to the ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/model.h"

namespace dvnn::import {

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

}  // namespace dvnn::import
