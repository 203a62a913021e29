// SPDX-License-Identifier: Apache-2.0
// Measures the range of a step's weights.
#pragma once

#include "network/model.h"

namespace dvnn::tools {

struct WeightRange {
  bool known = false;  // whether the step has packed weights that the model contains
  float least = 0, most = 0;
  double rms = 0;
  float largest_bias = 0;  // magnitude
  double zeros = 0;        // share of zero weights, 0..1
  bool quantised = false;  // 8-bit indices
};

/// Returns the range over all runs of a device step.
WeightRange weight_range(const network::Model& model, const network::Step& step);

}  // namespace dvnn::tools
