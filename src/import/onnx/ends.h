// SPDX-License-Identifier: Apache-2.0
// A graph's ends: which results are wanted, which nodes they need, and what the inputs are. Private
// to the ONNX front end.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/import.h"

namespace dvnn::import {

/// The names of the results to compute: `options.outputs`, where a node's name stands for its first
/// result, or the graph's own.
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

/// An input's dimensions as the model says them; those that are open are -1.
std::vector<int64_t> onnx_input_dims(const onnx::ValueInfoProto& info);

/// The names that a node reads, those that the nodes of its branches read included.
std::vector<std::string> onnx_names_read(const onnx::NodeProto& node);

/// Sets the graph's outputs.
Status set_onnx_outputs(const std::vector<std::string>& wanted, OnnxImporter* importer);

}  // namespace dvnn::import
