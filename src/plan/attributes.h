// SPDX-License-Identifier: Apache-2.0
// What a node of the graph is told beside the numbers that go into the device's command.
#pragma once

#include <variant>

#include "layers/attributes.h"

namespace dvnn::plan {

/// A convolution over one pixel, whose channels are its whole input: a fully connected layer.
struct FlatInput {
  bool reordered = false;  // its weights follow the order of elements in an input of this one size
};

/// How a pooling follows its input's size, and how it averages.
struct PoolingRule {
  bool ceil = false;        // a last window that is not whole counts
  bool global = false;      // one window over all there is
  bool counts_pads = true;  // an average divides by the whole window
};

/// A fully connected layer's inputs, of which there are as many whatever the picture's size.
struct FullConnection {
  int64_t inputs = 0;
};

/// None for what its run describes alone; a CPU layer's for what may be one: kCpu, kConcat,
/// kReshape.
using Attributes =
    std::variant<std::monostate, FlatInput, PoolingRule, FullConnection, layers::LayerAttributes>;

}  // namespace dvnn::plan
