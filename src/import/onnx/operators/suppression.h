// SPDX-License-Identifier: Apache-2.0
// Models that end with suppression of boxes, which is a decoder's work. Private to the ONNX front
// end.
#pragma once

#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dvnn::import {

/// Where a graph is cut so that no suppression (NonMaxSuppression and what makes and reads its
/// numbers) is needed.
struct SuppressionCut {
  std::string result;               // the last one that all of the tail is made of
  std::vector<std::string> wanted;  // it, in place of the results of the tail, and the others
};

/// Finds the cut, if the graph has such a tail and one result before it. `wanted` are the results
/// to be computed.
bool find_suppression_cut(const onnx::GraphProto& graph, const std::vector<std::string>& wanted,
                          SuppressionCut* cut);

}  // namespace dvnn::import
