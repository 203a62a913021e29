// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::softdv {

/// A chunk's weights (tap, channel) and bias, repeated to fill vectors.
struct DepthwiseWeights {
  const float *weights, *bias;
};

}  // namespace dvnn::softdv
