// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's convolution F(2x2, 3x3): Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015. A tile of 4 x 4 source pixels becomes 16 numbers, one for
// each position; each is multiplied with the kernel's number for that position; of the 16 sums over
// channels, 2 x 2 results are made. With three taps along one axis alone, a tile is 4 pixels along
// that axis, which become 4 numbers and 2 results: F(2, 3).
#pragma once

#include <cstddef>

#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

/// A tile along the axes that have three taps; along others it is one pixel.
struct WinogradTile {
  bool down, across;

  /// Numbers of results down and across, and of positions.
  size_t rows() const { return down ? 2 : 1; }
  size_t columns() const { return across ? 2 : 1; }
  size_t positions() const { return size_t{down ? 4u : 1u} * (across ? 4 : 1); }
};

/// Transforms `tiles` tiles side by side of one chunk. `from`: the tiles' rows of pixels of 8
/// floats, `row` floats apart. Tile t's 8 numbers for position p go to `to` + p * `position` + 8 t.
void winograd_sources(WinogradTile tile, const float* from, size_t row, size_t tiles, float* to,
                      size_t position);

/// Transforms sums, which lie as winograd_sources() leaves its numbers, to a row of the tiles'
/// pixels, or two rows. `bias`: of the chunk's 8 channels.
void winograd_results(WinogradTile tile, const float* from, size_t position, size_t tiles,
                      const float* bias, float* upper, float* lower);

/// As winograd_results(), but finishes the first `columns` pixels of the first `rows` rows, which
/// lie one after the other in memory. `finish` points to the first of them, and to the chunk's
/// slopes.
void winograd_finished(WinogradTile tile, const float* from, size_t position, size_t tiles,
                       const float* bias, const RegisterFinish& finish, size_t rows,
                       size_t columns);

}  // namespace dvnn::softdv
