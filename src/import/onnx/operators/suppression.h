// SPDX-License-Identifier: Apache-2.0
// Finds the end of models that suppress boxes themselves, which is a decoder's work. Private to the
// ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dvnn::import {

/// The place at which to cut a graph so that it needs no suppression (NonMaxSuppression and the
/// nodes around it).
struct SuppressionCut {
  std::string result;               // the last result from which all of the tail is computed
  std::vector<std::string> wanted;  // results to compute: `result` for those of the tail
};

/// Finds the cut, if the graph has such a tail and one result before it. `wanted` are the results
/// to be computed.
bool find_suppression_cut(const onnx::GraphProto& graph, const std::vector<std::string>& wanted,
                          SuppressionCut* cut);

}  // namespace dvnn::import
