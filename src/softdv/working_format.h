// SPDX-License-Identifier: Apache-2.0
// Float tensors as oneDNN wants them, and the way from and to the device's chunks of binary16.
//
// A working tensor has `lanes` neighbouring channels per pixel: oneDNN's nChw16c (16), nChw8c (8),
// nhwc (C) or nchw (1). "Row" and "column" are the device's slow and fast spatial axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/half.h"

namespace dvnn::softdv {

struct WorkingShape {
  int rows = 0, cols = 0, channels = 0;
  int lanes = 8;

  int groups() const { return (channels + lanes - 1) / lanes; }
  size_t pixels() const { return static_cast<size_t>(rows) * static_cast<size_t>(cols); }
  /// Floats, the last group's unused lanes included.
  size_t size() const {
    return pixels() * static_cast<size_t>(groups()) * static_cast<size_t>(lanes);
  }
};

/// Device chunks -> working tensor; unused lanes become 0. With `spread` > 1, sample (r, c) goes to
/// (r * spread_rows, c * spread_cols) of a zeroed, larger tensor: a deconvolution's input.
void load_working(const half_t* from, const WorkingShape& in, float* to, int spread_rows,
                  int spread_cols);

/// Working tensor -> device chunks, rounded to nearest even. With `keep`, the working tensor is
/// left with the rounded values, as load_working() would read them back.
void store_working(float* from, const WorkingShape& shape, bool keep, half_t* to);

}  // namespace dvnn::softdv
