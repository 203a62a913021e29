// SPDX-License-Identifier: Apache-2.0
// One row per operation of the graph: its name in files, what its command does, and the shape of
// its result. Front ends, saved graphs, placement and re-planning ask the row.
#pragma once

#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Traits of an operation's nodes.
enum OperatorTrait : unsigned {
  kNoTraits = 0,
  // Of the run that front ends make.
  kConvolves = 1 << 0,
  kPools = 1 << 1,
  kActivates = 1 << 2,
  // Of what a saved graph keeps of the node.
  kHasRun = 1 << 3,
  kHasWeights = 1 << 4,
  // After all passes it is a command of the device.
  kOnDevice = 1 << 5,
};

struct Operator {
  Op op;
  const char* name;  // in a saved graph; null: not kept there
  unsigned traits;   // OperatorTraits
  size_t least_inputs, most_inputs;
  Result<std::vector<int64_t>> (*dims_after)(const Graph& graph, Node* node);

  constexpr bool is(OperatorTrait trait) const { return (traits & trait) != 0; }
};

const Operator& operator_of(Op op);
/// Returns the operation with this name in saved graphs.
Result<Op> find_operator(const std::string& name);

/// Returns the result's dimensions from the shapes of the node's inputs, and sets attributes that
/// follow from shapes. kUnsupported if the node does not fit them.
Result<std::vector<int64_t>> dims_after(const Graph& graph, Node* node);

}  // namespace dvnn::plan
