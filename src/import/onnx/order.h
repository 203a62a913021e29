// SPDX-License-Identifier: Apache-2.0
// Puts nodes behind those that they read. Private to the ONNX front end.
#pragma once

#include "base/result.h"
#include "onnx.pb.h"

namespace dvnn::import {

/// Sorts the nodes of the graph, of the model's functions and of branches. The format demands an
/// order, but converters that add nodes at the end write none. What is in order stays as it is.
/// kMalformed names a node that needs its own result.
Status sort_onnx(onnx::ModelProto* model);

}  // namespace dvnn::import
