// SPDX-License-Identifier: Apache-2.0
// Turns pictures with one byte per cell, such as masks, together with their frame.
#pragma once

#include <cstdint>

#include "image/view.h"

namespace dvnn::image {

/// How cells change places: first the axes are swapped, then the result is mirrored.
struct CellTurn {
  bool swap_xy = false, mirror_x = false, mirror_y = false;

  bool moves() const { return swap_xy || mirror_x || mirror_y; }
};

/// Returns the turn of cells whose place is mapped by change.apply(), or by change.invert().
CellTurn turn_of(const Transform& change);
CellTurn turn_back(const Transform& change);

/// Writes the turned cells to `to`, which has the same size and does not overlap. Rows are `width`
/// cells, from the top; with `swap_xy`, rows of the result are `height` cells.
void turn_cells(const CellTurn& turn, const uint8_t* from, int width, int height, uint8_t* to);

}  // namespace dvnn::image
