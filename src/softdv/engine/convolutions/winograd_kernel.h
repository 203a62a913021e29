// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3): Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015. A tile of source pixels, two more along each
// axis than it has results, becomes as many numbers, one for each position; each is multiplied with
// the kernel's number for that position; of the sums over channels, 2x2 or 4x4 results are made.
// With three taps along one axis alone, a tile is one pixel across the other: F(2, 3) and F(4, 3).
#pragma once

#include <cstddef>

#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

/// The numbers of a tile's results down and across: 2 or 4 along axes with three taps, else 1.
struct WinogradTile {
  size_t rows, columns;

  /// Numbers of source pixels along an axis with some results.
  static constexpr size_t sources(size_t results) { return results == 1 ? 1 : results + 2; }
  size_t positions() const { return sources(rows) * sources(columns); }
};

/// Transforms `tiles` tiles side by side of one chunk. `from`: the tiles' rows of pixels of 8
/// floats, `row` floats apart. Tile t's 8 numbers for position p go to `to` + p * `position` + 8 t.
void winograd_sources(WinogradTile tile, const float* from, size_t row, size_t tiles, float* to,
                      size_t position);

/// Transforms sums, which lie as winograd_sources() leaves its numbers, to the tiles' rows of
/// pixels, `row` floats apart. `bias`: of the chunk's 8 channels.
void winograd_results(WinogradTile tile, const float* from, size_t position, size_t tiles,
                      const float* bias, float* to, size_t row);

/// As winograd_results(), but finishes the first `columns` pixels of the first `rows` rows, which
/// lie one after the other in memory. `finish` points to the first of them, and to the chunk's
/// slopes.
void winograd_finished(WinogradTile tile, const float* from, size_t position, size_t tiles,
                       const float* bias, const RegisterFinish& finish, size_t rows,
                       size_t columns);

}  // namespace dvnn::softdv
