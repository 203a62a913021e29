// SPDX-License-Identifier: Apache-2.0
// Rows of depthwise convolutions, from rows of floats, in vectors.
#pragma once

#include <cstddef>

#include "softdv/engine/finish/depthwise_weights.h"
#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

/// A row of `pixels` results of 8 channels, to floats or, if there is one, as `finish` says: its
/// `slopes` repeat over 16 floats. from[y] is the source row for the y-th row of taps, from the
/// first tap of the first result on. `kernel` is 3 or 5, `stride` 1 or 2. With a stride of 2 a
/// source row is its even pixels and, `odd` floats after them, its odd ones.
void depthwise_row(int kernel, int stride, size_t odd, const float* const* from,
                   const DepthwiseWeights& by, size_t pixels, float* to,
                   const RegisterFinish* finish);

/// Makes floats of pixels of 8 channels: every other one goes to `first`, the rest to `second`.
void split_pixels(const half_t* from, size_t pixels, float* first, float* second);

/// The same for two rows, one after the other, of 3x3 with a stride of 1; `from` has four rows.
void depthwise_two_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                        float* to, const RegisterFinish* finish);

/// The largest of each 2x2 results of two such rows, as `finish` says: `pixels` of them from twice
/// as many columns. `finish` adds nothing; `spare` has room for the two rows.
void depthwise_pooled_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                           float* spare, const RegisterFinish& finish);

/// All rows of a tile of the source with its zeros, `width` floats a row.
void depthwise_tile(const float* tile, size_t width, size_t rows, const DepthwiseWeights& by,
                    size_t pixels, float* to, const RegisterFinish* finish);

/// A row of pixels of fewer channels: weights and bias repeat over `pattern` floats, a multiple of
/// 16.
void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to);

/// A row of `pixels` results of 8 channels, `step` floats from one's source to the next one's, of
/// any taps: taps[k] is where the k-th begins for the first result. Weights and bias repeat over 16
/// floats.
void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to);

}  // namespace dvnn::softdv
