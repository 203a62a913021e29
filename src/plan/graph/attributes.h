// SPDX-License-Identifier: Apache-2.0
// Attributes that only some operations' nodes have, beside the numbers of the device's command.
#pragma once

#include <variant>
#include <vector>

#include "layers/attributes.h"

namespace dvnn::plan {

struct Node;

/// A fully connected layer as a convolution over one pixel, whose channels are the whole input.
struct FlatInput {
  bool reordered = false;  // its weights follow the order of elements in an input of this one size
};

/// Says how a pooling follows its input's size, and how it averages.
struct PoolingRule {
  bool ceil = false;        // a partial last window counts
  bool global = false;      // one window over the whole input
  bool counts_pads = true;  // an average divides by the whole window
};

/// A fully connected layer's number of inputs, which does not follow the image's size.
struct FullConnection {
  int64_t inputs = 0;
};

/// kCpu, kConcat and kReshape: a CPU layer.
struct CpuLayer {
  layers::LayerAttributes attributes;
  std::vector<int> shape_inputs;  // values of which only the shape is read
  bool in_chunks = false;  // an Elementwise that reads and writes the device's layout as it is
};

/// kBranches: the runs of one command, in order.
struct Branches {
  std::vector<Node> parts;
  uint32_t topo = 0;  // bit i: part i is a branch's last; device/command.h
};

/// A node has none if its run describes it completely.
using Attributes =
    std::variant<std::monostate, FlatInput, PoolingRule, FullConnection, CpuLayer, Branches>;

}  // namespace dvnn::plan
