// SPDX-License-Identifier: Apache-2.0
// Activations by their own names.
#pragma once

#include <vector>

#include "layers/attributes/layer_type.h"

namespace dvnn::layers {

/// y = x or, below 0, {alpha} (exp(x) - 1).
struct EluAttributes {
  DVNN_LAYER_TYPE(EluAttributes, "ELU");
  float alpha = 1;
};

/// {slope: [one per channel, or one]}: negative values are multiplied by it.
struct PreluAttributes {
  DVNN_LAYER_TYPE(PreluAttributes, "PReLU");
  std::vector<float> slope;
};

/// y = x or, below 0, {slope} x.
struct ReluAttributes {
  DVNN_LAYER_TYPE(ReluAttributes, "ReLU");
  float slope = 0;
};

struct SigmoidAttributes {
  DVNN_LAYER_TYPE(SigmoidAttributes, "Sigmoid");
};

struct TanhAttributes {
  DVNN_LAYER_TYPE(TanhAttributes, "TanH");
};

}  // namespace dvnn::layers
