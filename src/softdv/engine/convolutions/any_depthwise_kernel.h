// SPDX-License-Identifier: Apache-2.0
// Vector code for depthwise convolutions of any kernel, and of pixels that are no whole chunks.
#pragma once

#include <cstddef>

#include "softdv/engine/finish/depthwise_weights.h"

namespace dvnn::softdv {

/// Computes a row of pixels of fewer than 8 channels: weights and bias repeat over `pattern`
/// floats, a multiple of 16.
void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to);

/// Computes a row of `pixels` results of 8 channels with any taps: taps[k] is the offset of tap k
/// of the first result; results follow at `step` floats. Weights and bias repeat over 16 floats.
void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to);

}  // namespace dvnn::softdv
