// SPDX-License-Identifier: Apache-2.0
#include "image/cells.h"

#include <cstddef>

namespace dvnn::image {

CellTurn turn_of(const Transform& change) {
  return {change.swap_xy, change.scale_x < 0, change.scale_y < 0};
}

// Scales belong to the axes of apply()'s result, so for the inverse they are swapped last.
CellTurn turn_back(const Transform& change) {
  const bool x = change.scale_x < 0, y = change.scale_y < 0;
  return change.swap_xy ? CellTurn{true, y, x} : CellTurn{false, x, y};
}

void turn_cells(const CellTurn& turn, const uint8_t* from, int width, int height, uint8_t* to) {
  const int columns = turn.swap_xy ? height : width, rows = turn.swap_xy ? width : height;
  for (int y = 0; y < rows; ++y) {
    const int v = turn.mirror_y ? rows - 1 - y : y;
    for (int x = 0; x < columns; ++x) {
      const int u = turn.mirror_x ? columns - 1 - x : x;
      const int column = turn.swap_xy ? v : u, row = turn.swap_xy ? u : v;
      *to++ = from[static_cast<ptrdiff_t>(row) * width + column];
    }
  }
}

}  // namespace dvnn::image
