// SPDX-License-Identifier: Apache-2.0
// Rows of floats, (rows, cols, channels): what is made of a chunk's binary16, or of all chunks.
// "Row" and "column" are the device's slow and fast spatial axis.
#pragma once

#include <cstddef>

#include "softdv/bands.h"

namespace dvnn::softdv {

struct RowShape {
  int rows = 0, cols = 0, channels = 0;

  size_t pixels() const { return static_cast<size_t>(rows) * static_cast<size_t>(cols); }
  /// Floats of a row, and of all rows.
  size_t row() const { return static_cast<size_t>(cols) * static_cast<size_t>(channels); }
  size_t size() const { return row() * static_cast<size_t>(rows); }
};

/// Some of the rows; `data` points to row `first`.
struct RowsView {
  const float* data = nullptr;
  int first = 0;
};

}  // namespace dvnn::softdv
