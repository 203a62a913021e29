// SPDX-License-Identifier: Apache-2.0
// Measures how large the weights of a step are.
#pragma once

#include "network/model.h"

namespace dvnn::tools {

struct WeightRange {
  bool known = false;  // the step has packed weights, and the model holds them
  float least = 0, most = 0;
  double rms = 0;
  float largest_bias = 0;  // magnitude
  double zeros = 0;        // the share of weights that are zero, 0..1
  bool quantised = false;  // 8 bits
};

/// Returns the range over all runs of a device step.
WeightRange weight_range(const network::Model& model, const network::Step& step);

}  // namespace dvnn::tools
