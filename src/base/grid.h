// SPDX-License-Identifier: Apache-2.0
// Sizes and indices of grids that are stored row by row, such as masks and pictures. Coordinates
// are signed; products are size_t, because a picture may have more pixels than an int can count.
#pragma once

#include <cstddef>

namespace dvnn {

/// Returns the number of cells. Arguments must not be negative.
constexpr size_t grid_size(int columns, int rows) {
  return static_cast<size_t>(columns) * static_cast<size_t>(rows);
}

/// Returns the index of a cell in a grid of `columns` columns. Arguments must not be negative.
constexpr size_t grid_index(int column, int row, int columns) {
  return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
}

}  // namespace dvnn
