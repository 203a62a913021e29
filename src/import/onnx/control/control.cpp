// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/control/control.h"

namespace dvnn::import {
namespace {

std::vector<ControlOperator> all_operators() {
  std::vector<ControlOperator> all;
  for (const auto& some :
       {branch_operators(), loop_operators(), list_operators(), spectral_operators()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

Status ControlImport::move(const char* type, const std::string& name, const std::string& output,
                           int64_t axis) {
  constexpr int64_t kAxesAreAnInput = 13;
  onnx::NodeProto proto = made_node(type, {name}, output);
  if (node_.opset() >= kAxesAreAnInput) {
    importer_.set(output + "/axis", whole_numbers({axis}));
    proto.add_input(output + "/axis");
  } else {
    add_attribute("axes", std::vector{axis}, &proto);
  }
  return import_(proto);
}

const ControlOperator* find_control_operator(const std::string& type) {
  static const std::vector<ControlOperator> all = all_operators();
  for (const ControlOperator& row : all) {
    if (type == row.type) return &row;
  }
  return nullptr;
}

}  // namespace dvnn::import
