// SPDX-License-Identifier: Apache-2.0
// Vector code for depthwise convolutions of rows of floats.
#pragma once

#include <cstddef>

#include "softdv/engine/finish/depthwise_weights.h"
#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

/// Computes a row of `pixels` results of 8 channels: as floats, or finished if `finish` is not
/// null, whose `slopes` repeat over 16 floats. from[y] is the source row for the y-th row of taps,
/// from the first tap of the first result on. `kernel` is 3 or 5, `stride` 1 or 2. With a stride of
/// 2 a source row has its even pixels first and, at offset `odd` floats, its odd ones.
void depthwise_row(int kernel, int stride, size_t odd, const float* const* from,
                   const DepthwiseWeights& by, size_t pixels, float* to,
                   const RegisterFinish* finish);

/// Converts pixels of 8 channels to floats: even pixels go to `first`, odd ones to `second`.
void split_pixels(const half_t* from, size_t pixels, float* first, float* second);

/// Computes two rows, one after the other, of 3x3 with a stride of 1; `from` has four rows.
void depthwise_two_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                        float* to, const RegisterFinish* finish);

/// Computes `pixels` finished maxima of 2x2 results of two such rows, which have twice as many
/// columns. `finish` has no addend; `spare` has room for the two rows.
void depthwise_pooled_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                           float* spare, const RegisterFinish& finish);

/// Computes all rows of a tile of the source with its zeros, `width` floats per row.
void depthwise_tile(const float* tile, size_t width, size_t rows, const DepthwiseWeights& by,
                    size_t pixels, float* to, const RegisterFinish* finish);

/// Computes a row of pixels of fewer than 8 channels: weights and bias repeat over `pattern`
/// floats, a multiple of 16.
void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to);

/// Computes a row of `pixels` results of 8 channels with any taps: taps[k] is the offset of tap k
/// of the first result; results follow at `step` floats. Weights and bias repeat over 16 floats.
void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to);

}  // namespace dvnn::softdv
