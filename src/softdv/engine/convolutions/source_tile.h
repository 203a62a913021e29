// SPDX-License-Identifier: Apache-2.0
// Part of a convolution's source as floats with the zeros around it.
#pragma once

#include "softdv/engine/bands.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// The places that are read along one axis.
struct Reach {
  int start;  // the first source position, below 0 if it is a zero before the source
  int step;   // from each position to the next one that is read
  int count;

  size_t places() const { return static_cast<size_t>(count); }
};

/// Returns what some results of an axis are made of. Kernels of one tap leave out what lies between
/// the strides, unless `keep_between`.
Reach reach(const ConvAxis& axis, Band results, bool keep_between);

/// One chunk of `from`, which is the whole source in chunks, as (row, column, `pixel`) floats.
/// `pixel` is 8, and those of channels that there are not are anything; or the chunk's channels.
/// A source with gaps is read in steps of 1.
void load_source(const ConvShape& shape, const half_t* from, int chunk, const Reach& rows,
                 const Reach& columns, size_t pixel, float* to);

}  // namespace dvnn::softdv
