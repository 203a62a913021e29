// SPDX-License-Identifier: Apache-2.0
// Rows of floats, (rows, cols, channels), of one chunk or of all chunks.
// "Row" and "column" are the device's slow and fast spatial axis.
#pragma once

#include <cstddef>

#include "base/grid.h"
#include "softdv/engine/bands.h"

namespace dvnn::softdv {

struct RowShape {
  int rows = 0, cols = 0, channels = 0;

  size_t row_pixels() const { return static_cast<size_t>(cols); }
  size_t pixels() const { return grid_size(cols, rows); }
  /// Floats of a pixel, of a row, and of all rows.
  size_t pixel() const { return static_cast<size_t>(channels); }
  size_t row() const { return grid_size(cols, channels); }
  size_t size() const { return pixels() * pixel(); }
  /// Floats before a pixel of a row; `column` is not negative.
  size_t before_pixel(int column) const { return static_cast<size_t>(column) * pixel(); }
};

/// Some of the rows; `data` points to the one numbered `first`.
struct RowsView {
  const float* data = nullptr;
  int first = 0;

  /// Returns where a row begins, which must not come before `first`.
  const float* row(const RowShape& shape, int row) const {
    return data + Band{first, row}.count() * shape.row();
  }
};

}  // namespace dvnn::softdv
