// SPDX-License-Identifier: Apache-2.0
// The operations after a convolution, on bands of working tensors: poolings, activations, LRN; and
// on binary16, which is not converted where results are elements of the source.
#pragma once

#include "device/command.h"
#include "softdv/engine/finish/register_finish.h"
#include "softdv/engine/rows.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// A chunk's weights (tap, channel) and bias, repeated to fill vectors.
struct DepthwiseWeights {
  const float *weights, *bias;
};

/// A pooling window along rows and columns; pads before the first of each.
struct PoolWindow {
  int size_rows = 1, size_cols = 1, stride_rows = 1, stride_cols = 1, pad_rows = 0, pad_cols = 0;
};

// Bands are rows of the output; `to` and `data` point to the band's first row. The input must have
// the rows that the band's windows reach.

/// Returns the input rows that a band's windows reach.
Band window_rows(const RowShape& in, const PoolWindow& window, Band band);

/// Maximum over each window; padding never counts.
void max_pool(RowsView from, const RowShape& in, const PoolWindow& window, float* to,
              const RowShape& out, Band band);
/// Sum over each window (padding is 0) times `scale`.
void average_pool(RowsView from, const RowShape& in, const PoolWindow& window, float scale,
                  float* to, const RowShape& out, Band band);
/// Repeats every pixel twice in both directions.
void upsample(RowsView from, const RowShape& in, float* to, const RowShape& out, Band band);
/// Local response normalisation over 5 channels by the hardware's 12 linear segments. `prescale` is
/// log2 of the divisor of the inputs before they are squared.
void lrn(RowsView from, const RowShape& shape, int prescale, float* to, Band band);

/// Applies an activation in place. `slopes`, one per channel: for PReLU only. `absolute` takes the
/// magnitude after any activation but ReLU.
void activate(device::Activation activation, float param, const float* slopes, bool absolute,
              const RowShape& shape, Band band, float* data);

/// Finishes `count` values, a multiple of 8, that no convolution changes; without slopes per
/// channel.
void finish_halves(const half_t* from, size_t count, const RegisterFinish& finish);

/// Multiplies pixels of a chunk, `count` values, by its channels' weights, adds their bias, and
/// finishes them. Weights, bias and slopes (if any) repeat over 16 floats.
void scale_halves(const half_t* from, size_t count, const DepthwiseWeights& by,
                  const RegisterFinish& finish);

/// Computes the maximum of each window of a chunk's pixels, of 8 channels. NaNs are ignored, and +0
/// is larger than -0. `from`: the whole chunk; `to`: row `band.first` of the result.
void max_pool_halves(const half_t* from, const RowShape& in, const PoolWindow& window, half_t* to,
                     const RowShape& out, Band band);

}  // namespace dvnn::softdv
