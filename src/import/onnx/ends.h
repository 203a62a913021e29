// SPDX-License-Identifier: Apache-2.0
// Ends of a graph: the wanted results, the nodes that they need, and the inputs. Private to the
// ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/import.h"

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

}  // namespace dvnn::import
