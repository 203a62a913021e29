// SPDX-License-Identifier: Apache-2.0
// Advice for refused nodes, derived from facts of the model. Private to the ONNX front end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/ends.h"

namespace dvnn::import {

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
