// SPDX-License-Identifier: Apache-2.0
// Float tensors as oneDNN takes them, and the way from and to the device's chunks of binary16.
//
// A working tensor is row-major float, (rows, cols, channels): oneDNN's nhwc. "Row" and "column"
// are the device's slow and fast spatial axis. Functions work on bands of rows, so that threads can
// share a tensor and a band is still in the cache when the next thing is done to it: working
// tensors are passed by the band's first row, tensors in device chunks as a whole.
#pragma once

#include <cstddef>

#include "softdv/bands.h"
#include "tensor/half.h"

namespace dvnn::softdv {

struct WorkingShape {
  int rows = 0, cols = 0, channels = 0;

  size_t pixels() const { return static_cast<size_t>(rows) * static_cast<size_t>(cols); }
  /// Floats of a row, and of all rows.
  size_t row() const { return static_cast<size_t>(cols) * static_cast<size_t>(channels); }
  size_t size() const { return row() * static_cast<size_t>(rows); }
};

/// Device chunks -> working tensor.
void load_rows(const half_t* from, const WorkingShape& shape, Band band, float* to);

/// The same for a deconvolution's input: sample (r, c) goes to (r * step_rows, c * step_cols) of a
/// larger tensor that is otherwise zero. `target` is the whole tensor.
void spread_rows(const half_t* from, const WorkingShape& shape, Band band, int step_rows,
                 int step_cols, float* to);

/// Some rows of a working tensor; `data` points to row `first`.
struct RowsView {
  const float* data = nullptr;
  int first = 0;
};

/// Working tensor -> device chunks, rounded to nearest even.
void store_rows(const float* from, const WorkingShape& shape, Band band, half_t* to);

/// Adds a tensor in device chunks to the working tensor.
void add_rows(const half_t* addend, const WorkingShape& shape, Band band, float* data);

}  // namespace dvnn::softdv
