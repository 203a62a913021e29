// SPDX-License-Identifier: Apache-2.0
// Computes a graph in FP32, operation by operation: as imported, to compare the device's 16 bits
// with the framework's result; or after passes, which must not change the result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/nth.h"
#include "layers/bound_layer.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

class Reference {
 public:
  /// Creates the reference of a graph. Fully connected layers that a pass has made convolutions
  /// must read single pixels, because the order of their weights is the device's. `library` has the
  /// CPU layers of users; it may be null.
  static Result<std::unique_ptr<Reference>> create(Graph graph,
                                                   const layers::CustomLibrary* library = nullptr);
  /// The same, without a copy of the graph, which must outlive the reference.
  static Result<std::unique_ptr<Reference>> over(const Graph& graph,
                                                 const layers::CustomLibrary* library = nullptr);

  const Graph& graph() const { return graph_; }
  /// Returns a value of the last run, row-major; empty if it was not computed.
  const std::vector<float>& value(int index) const { return nth(values_, index); }
  /// Returns all outputs, row-major, for a row-major input (C, H, W). Extra inputs are zeros, but
  /// for the states that keep_states() has kept.
  Result<std::vector<std::vector<float>>> run(const float* input);
  /// Shows each value of a run once, in the order in which they are computed, and forgets those
  /// that no node reads any more: a run of a large network takes no more memory than it must.
  using See = std::function<void(int value, const std::vector<float>& numbers)>;
  Status run_past(const float* input, const See& see);
  /// Keeps the states of the last run for the next one.
  void keep_states();

 private:
  explicit Reference(Graph graph) : own_(std::move(graph)), graph_(*own_) {}
  explicit Reference(const Graph* graph) : graph_(*graph) {}
  Status create_layers(const layers::CustomLibrary* library);
  Status run_node(size_t index);
  const std::vector<float>& in(const Node& node, size_t i = 0) const {
    return nth(values_, node.inputs[i]);
  }

  std::optional<Graph> own_;
  const Graph& graph_;
  std::vector<layers::BoundLayer> layers_;  // by node; false: no CPU layer
  std::vector<std::vector<float>> values_;
};

}  // namespace dvnn::plan
