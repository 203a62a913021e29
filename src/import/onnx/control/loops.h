// SPDX-License-Identifier: Apache-2.0
// Loop and Scan, unrolled. Private to the ONNX front end.
#pragma once

#include <functional>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Returns whether the operator repeats a graph of its own.
bool repeats_onnx(const std::string& type);

/// Imports the body of a Loop or Scan once for each repetition. Their number must be known:
/// constants decide how often a Loop repeats, and the input's shape how often a Scan does.
/// `import` imports a node of the body.
Status unroll_onnx(const OnnxNode& node,
                   const std::function<Status(const onnx::NodeProto&)>& import);

}  // namespace dvnn::import
