// SPDX-License-Identifier: Apache-2.0
// Maximum poolings without other operations: results are elements of the source, so nothing is
// converted.
#pragma once

#include "softdv/engine/finish/pointwise.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// Computes the maximum of each window of a chunk's pixels, of 8 channels. NaNs are ignored, and +0
/// is larger than -0. `from`: the whole chunk; `to`: row `band.first` of the result.
void max_pool_halves(const half_t* from, const RowShape& in, const PoolWindow& window, half_t* to,
                     const RowShape& out, Band band);

}  // namespace dvnn::softdv
