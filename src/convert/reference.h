// SPDX-License-Identifier: Apache-2.0
// An imported graph computed in FP32, operation by operation as the model's framework defines it:
// what the device's 16 bits are held against.
#pragma once

#include <memory>
#include <vector>

#include "convert/graph.h"
#include "layers/cpu_layer.h"

namespace dvnn::convert {

class Reference {
 public:
  /// `graph` is as a front end made it: no pass has seen it.
  static Result<std::unique_ptr<Reference>> create(Graph graph);

  const Graph& graph() const { return graph_; }
  /// All outputs, row-major, for a row-major input (C, H, W).
  Result<std::vector<std::vector<float>>> run(const float* input);

 private:
  explicit Reference(Graph graph) : graph_(std::move(graph)) {}
  Status run_node(size_t index);
  const std::vector<float>& in(const Node& node, size_t i = 0) const {
    return values_[static_cast<size_t>(node.inputs[i])];
  }

  Graph graph_;
  std::vector<std::unique_ptr<layers::CpuLayer>> layers_;  // by node; null: not a CPU layer
  std::vector<std::vector<float>> values_;
};

}  // namespace dvnn::convert
