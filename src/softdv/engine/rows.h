// SPDX-License-Identifier: Apache-2.0
// Rows of floats, (rows, cols, channels), of one chunk or of all chunks, and bands of some
// neighbouring rows (or pixels of a row): what a thread does at a time. "Row" and "column" are the
// device's slow and fast spatial axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/grid.h"

namespace dvnn::softdv {

/// Rows first..last-1.
struct Band {
  int first = 0, last = 0;

  /// How many rows it has, and how many come before it, where neither is negative.
  size_t count() const { return static_cast<size_t>(last - first); }
  size_t before() const { return static_cast<size_t>(first); }
};

/// Returns how many times `b` covers `a`.
template <typename T>
constexpr T quotient_up(T a, T b) {
  return (a + b - 1) / b;
}

/// The i-th of `count` bands that divide `rows` evenly.
inline Band band_of(int rows, int i, int count) {
  return {static_cast<int>(int64_t{rows} * i / count),
          static_cast<int>(int64_t{rows} * (i + 1) / count)};
}

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
