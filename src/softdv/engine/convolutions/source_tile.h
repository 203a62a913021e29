// SPDX-License-Identifier: Apache-2.0
// Loads a part of a convolution's source as floats, with the zeros around it.
#pragma once

#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/rows.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// The source positions that are read along one axis.
struct Reach {
  int start;  // the first source position; below 0: a zero before the source
  int step;   // distance between positions that are read
  int count;

  size_t places() const { return static_cast<size_t>(count); }
};

/// Returns the source positions of some results of an axis. Kernels of one tap skip positions
/// between the strides, unless `keep_between`.
Reach reach(const ConvAxis& axis, Band results, bool keep_between);

/// Loads one chunk of `from`, which is the whole source in chunks, as (row, column, `pixel`)
/// floats. `pixel` is 8, with any values for channels that do not exist, or the chunk's number of
/// channels. A source with gaps is read in steps of 1.
void load_source(const ConvShape& shape, const half_t* from, int chunk, const Reach& rows,
                 const Reach& columns, size_t pixel, float* to);

}  // namespace dvnn::softdv
