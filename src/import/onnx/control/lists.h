// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, ONNX's sequences, of known length: what exporters write for a split or for
// tensors that a loop collects. Private to the ONNX front end.
#pragma once

#include <functional>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Returns whether the operator makes a list, or reads one.
bool lists_onnx(const std::string& type);

/// Imports such an operator: lists are known at conversion, tensors are what is in them. `import`
/// imports another node, in the operator's place.
Status list_onnx(const OnnxNode& node, const std::function<Status(const onnx::NodeProto&)>& import);

}  // namespace dvnn::import
