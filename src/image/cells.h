// SPDX-License-Identifier: Apache-2.0
// Pictures of a byte per cell, such as masks: how they turn with the frame that they lie on.
#pragma once

#include <cstdint>

#include "image/view.h"

namespace dvnn::image {

/// The way in which cells change places: the axes are swapped first, then the result is mirrored.
struct CellTurn {
  bool swap_xy = false, mirror_x = false, mirror_y = false;

  bool moves() const { return swap_xy || mirror_x || mirror_y; }
};

/// Returns what becomes of cells whose place goes through change.apply(), or through
/// change.invert().
CellTurn turn_of(const Transform& change);
CellTurn turn_back(const Transform& change);

/// Writes the turned cells to `to`, which holds as many and does not overlap. Rows are `width`
/// cells, from the top; with `swap_xy` the result's rows are `height` cells.
void turn_cells(const CellTurn& turn, const uint8_t* from, int width, int height, uint8_t* to);

}  // namespace dvnn::image
