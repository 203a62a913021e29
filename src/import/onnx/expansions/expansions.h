// SPDX-License-Identifier: Apache-2.0
// Operators that are replaced by several others: those of quantised models, and those that ONNX
// Runtime's optimiser makes; and dynamic quantisation as its tools write it. Private to the ONNX
// front end.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx/model.h"
#include "onnx.pb.h"

namespace dvnn::import {

bool has_onnx_expansion(const onnx::NodeProto& node);

/// Returns the operators that replace the node, as a function that it calls; nothing if it is none
/// of these. Error: kUnsupported for forms that they cannot compute.
Result<std::optional<onnx::FunctionProto>> onnx_expansion(const onnx::NodeProto& node);

/// Returns the names of the expanded operators that belong to ONNX itself.
std::vector<std::string> onnx_expanded_operators();

/// Nodes that can be computed in floating point, without rounding.
struct PlainScalings {
  std::set<std::string> scalings;  // first results of DynamicQuantizeLinear
  std::set<std::string> products;  // results of the ConvInteger and MatMulInteger that read them
};

/// Finds each DynamicQuantizeLinear whose numbers only ConvInteger and MatMulInteger read, whose
/// results are multiplied by the scale again: Cast(y) * (scale * known). Such a chain is a
/// convolution or a product in floating point, except that its input is rounded to 8 bits, which is
/// faster elsewhere but only costs time here.
PlainScalings plain_scalings(const onnx::GraphProto& graph, const std::vector<std::string>& wanted);

}  // namespace dvnn::import
