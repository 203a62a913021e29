// SPDX-License-Identifier: Apache-2.0
// Poolings that nothing else comes with: results are values of the source as they are, so nothing
// is converted.
#pragma once

#include "softdv/engine/finish/pointwise.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// The largest of each window of a chunk's pixels, of 8 channels; what is no number is no value,
/// and +0 is larger than -0. `from` is the whole chunk; `to` is row `band.first` of the result.
void max_pool_halves(const half_t* from, const RowShape& in, const PoolWindow& window, half_t* to,
                     const RowShape& out, Band band);

}  // namespace dvnn::softdv
