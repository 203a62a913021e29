// SPDX-License-Identifier: Apache-2.0
// Operators that are replaced by several others: those of quantised models, and those that ONNX
// Runtime's optimiser makes. Private to the ONNX front end.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "import/onnx/model.h"

namespace dvnn::import {

bool has_onnx_expansion(const onnx::NodeProto& node);

/// Returns the operators that replace the node, as a function that it calls; nothing if it is none
/// of these. Error: kUnsupported for forms that they cannot compute.
Result<std::optional<onnx::FunctionProto>> onnx_expansion(const onnx::NodeProto& node);

/// Returns the names of the expanded operators that belong to ONNX itself.
std::vector<std::string> onnx_expanded_operators();

}  // namespace dvnn::import
