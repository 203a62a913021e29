// SPDX-License-Identifier: Apache-2.0
// The order in which nodes are imported, and which large weights are in memory as numbers then.
// Private to the ONNX front end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx/import.h"
#include "onnx.pb.h"

namespace dvnn::import {

/// Sorts the nodes of the graph, of the model's functions and of branches. The format demands an
/// order, but converters that add nodes at the end write none. What is in order stays as it is.
/// kMalformed names a node that needs its own result.
Status sort_onnx(onnx::ModelProto* model);

/// Which large weights of a graph are in memory as numbers: from the first node that reads them
/// until the last one, as the graph that is made has them then.
class OnnxWeights {
 public:
  /// `needed`: the nodes of `proto` that are imported, in their order. If the weights are read
  /// once, `proto` loses each when it becomes numbers.
  OnnxWeights(onnx::GraphProto* proto, const std::vector<bool>& needed, bool once);

  /// Returns the names that read_for() makes known.
  const std::set<std::string>& late() const { return late_; }
  /// Reads the weights whose first reader is this node.
  Status read_for(int node, OnnxImporter* importer);
  /// Forgets the weights whose last reader is this node.
  void forget_after(int node, OnnxImporter* importer) const;

 private:
  using Names = std::vector<std::string>;

  onnx::GraphProto* proto_;
  bool once_;
  std::map<std::string, int> places_;  // among the initializers, of those that are large
  std::set<std::string> late_;
  std::vector<Names> first_, last_;  // by node
};

}  // namespace dvnn::import
