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

const ControlOperator* find_control_operator(const std::string& type) {
  static const std::vector<ControlOperator> all = all_operators();
  for (const ControlOperator& row : all) {
    if (type == row.type) return &row;
  }
  return nullptr;
}

}  // namespace dvnn::import
