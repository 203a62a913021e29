// SPDX-License-Identifier: Apache-2.0
// If: one of two graphs. Private to the ONNX front end.
#pragma once

#include <functional>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Imports an If. A known condition chooses the branch that takes its place; otherwise both are
/// computed, and their results, of the same sizes, are chosen from element by element. `import`
/// imports a node of a branch.
Status branch_onnx(const OnnxNode& node,
                   const std::function<Status(const onnx::NodeProto&)>& import);

}  // namespace dvnn::import
