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

}  // namespace dvnn::softdv
