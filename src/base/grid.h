// SPDX-License-Identifier: Apache-2.0
// Grids that lie row by row, as masks, maps and pictures do, by numbers that are signed, as places
// in pictures are. Products are of size_t: a picture may have more pixels than an int counts.
#pragma once

#include <cstddef>

namespace dvnn {

/// The number of cells. Neither number is negative.
constexpr size_t grid_size(int columns, int rows) {
  return static_cast<size_t>(columns) * static_cast<size_t>(rows);
}

/// The index of a cell of a grid of so many columns. No number is negative.
constexpr size_t grid_index(int column, int row, int columns) {
  return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
}

}  // namespace dvnn
