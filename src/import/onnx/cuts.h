// SPDX-License-Identifier: Apache-2.0
// Where models are cut: before boxes are suppressed in the model, which is a decoder's work; and
// where one can be cut, as advice for nodes that are refused, derived from facts of the model.
// Private to the ONNX front end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/ends.h"
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

/// A graph with a refused node. `knows` returns whether there is an importer for a node.
struct OnnxRefusal {
  const onnx::GraphProto& proto;
  const OnnxNeeds& needs;
  const std::vector<std::string>& wanted;
  int node;
  std::function<bool(const onnx::NodeProto&)> knows;
};

/// Returns the error with advice appended: another size, or the results at which the model can be
/// cut.
Error with_hint(const Error& error, const OnnxRefusal& refusal, const OnnxImporter& importer);

/// Returns results at which to cut the graph, so that it needs neither the refused node, nor nodes
/// of unknown types, nor their readers: the last results before these, and the wanted ones left.
std::vector<std::string> results_before(const OnnxRefusal& refusal, const OnnxImporter& importer);

}  // namespace dvnn::import
