// SPDX-License-Identifier: Apache-2.0
// A graph's ends: which results are wanted, which nodes they need, and what the inputs are. Private
// to the ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Returns the names of the results to compute: `options.outputs`, in which a node's name stands
/// for its first result, or the graph's own.
Result<std::vector<std::string>> wanted_outputs(const onnx::GraphProto& proto,
                                                const ImportOptions& options);

/// The nodes and names that the wanted results are computed
/// from.
struct OnnxNeeds {
  std::vector<bool> nodes;
  std::set<std::string> names;
};
OnnxNeeds needs_of(const onnx::GraphProto& proto, const std::vector<std::string>& wanted);

/// Makes the one input that is left when those that have values, and those that nothing needs, are
/// taken away. Initializers are known already.
Status import_onnx_inputs(const onnx::GraphProto& proto, const OnnxNeeds& needs,
                          OnnxImporter* importer);

/// Returns an input's dimensions as the model gives them; open ones are -1.
std::vector<int64_t> onnx_input_dims(const onnx::ValueInfoProto& info);

/// Returns the names that a node reads, including those that the nodes of its branches read.
std::vector<std::string> onnx_names_read(const onnx::NodeProto& node);

/// Sets the graph's outputs.
Status set_onnx_outputs(const std::vector<std::string>& wanted, OnnxImporter* importer);

}  // namespace dvnn::import
