// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's convolution F(2x2, 3x3): Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015. A tile of 4 x 4 source pixels becomes 16 numbers, one for
// each position; each is multiplied with the kernel's number for that position; of the 16 sums over
// channels, 2 x 2 results are made.
#pragma once

#include <cstddef>

namespace dvnn::softdv {

constexpr size_t kWinogradPositions = 16;

/// Transforms `tiles` tiles side by side, 2 pixels apart, of one chunk. `from`: 4 rows of pixels of
/// 8 floats, `row` floats apart. Tile t's 8 numbers for position p go to `to` + p * `position` + 8
/// t.
void winograd_sources(const float* from, size_t row, size_t tiles, float* to, size_t position);

/// Transforms sums, which lie as winograd_sources() leaves its numbers, to 2 rows of 2 * `tiles`
/// pixels. `bias`: of the chunk's 8 channels.
void winograd_results(const float* from, size_t position, size_t tiles, const float* bias,
                      float* upper, float* lower);

}  // namespace dvnn::softdv
