// SPDX-License-Identifier: Apache-2.0
// One row per operation of the graph: its name in files, what its command does, and the shape of
// its result. Front ends, saved graphs, placement and re-planning ask the row.
#pragma once

#include "plan/graph.h"

namespace dvnn::plan {

struct Operator {
  Op op;
  const char* name;                  // in a saved graph; null: not kept there
  bool convolves, pools, activates;  // what its run does, as front ends make it
  bool has_run, has_weights;         // kept with it
  bool on_device;                    // after all passes it is a device command
  size_t least_inputs, most_inputs;
  Result<std::vector<int64_t>> (*dims_after)(const Graph& graph, Node* node);
};

const Operator& operator_of(Op op);
/// The operation that saved graphs call so.
Result<Op> find_operator(const std::string& name);

/// The dimensions of the result, from the shapes of the node's inputs; attributes that follow from
/// shapes are set. kUnsupported if the node does not fit them.
Result<std::vector<int64_t>> dims_after(const Graph& graph, Node* node);

}  // namespace dvnn::plan
