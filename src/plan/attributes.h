// SPDX-License-Identifier: Apache-2.0
// The attributes of a graph's node, beside the numbers of the device's command.
#pragma once

#include <variant>

#include "layers/attributes.h"

namespace dvnn::plan {

/// A fully connected layer as a convolution over one pixel, whose channels are the whole input.
struct FlatInput {
  bool reordered = false;  // its weights follow the order of elements in an input of this one size
};

/// Says how a pooling follows its input's size, and how it averages.
struct PoolingRule {
  bool ceil = false;        // a partial last window counts
  bool global = false;      // one window over all there is
  bool counts_pads = true;  // an average divides by the whole window
};

/// A fully connected layer's number of inputs, which does not follow the image's size.
struct FullConnection {
  int64_t inputs = 0;
};

/// A node has none if its run describes it completely. kCpu, kConcat and kReshape have those of a
/// CPU layer.
using Attributes =
    std::variant<std::monostate, FlatInput, PoolingRule, FullConnection, layers::LayerAttributes>;

}  // namespace dvnn::plan
