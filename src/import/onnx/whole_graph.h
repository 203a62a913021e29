// SPDX-License-Identifier: Apache-2.0
// Work on a whole graph: its ends, the order of its nodes, and where it is cut. Private to the ONNX
// front end.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx/import.h"
#include "onnx.pb.h"

namespace dvnn::import {

/// Returns the names of the results to compute: `options.outputs`, in which a node's name stands
/// for its first result, or the graph's own.
Result<std::vector<std::string>> wanted_outputs(const onnx::GraphProto& proto,
                                                const ImportOptions& options);

/// The nodes and names from which the wanted results are computed.
struct OnnxNeeds {
  std::vector<bool> nodes;
  std::set<std::string> names;
};
OnnxNeeds needs_of(const onnx::GraphProto& proto, const std::vector<std::string>& wanted);

/// Removes the outputs that are states, unless that leaves none.
void leave_out_states(const std::vector<OnnxState>& states, std::vector<std::string>* wanted);

/// Makes the states, the inputs that are to stay live, and the only other input that neither has
/// given values nor is unused. Initializers must be known.
Status import_onnx_inputs(const onnx::GraphProto& proto, const OnnxNeeds& needs,
                          OnnxImporter* importer);

/// Returns an input's dimensions as the model gives them; open ones are -1.
std::vector<int64_t> onnx_input_dims(const onnx::ValueInfoProto& info);

/// Returns the names that a node reads, including those that the nodes of its branches read.
std::vector<std::string> onnx_names_read(const onnx::NodeProto& node);

/// Sets the graph's outputs, and the next values of its states.
Status set_onnx_outputs(const std::vector<std::string>& wanted, OnnxImporter* importer);

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
