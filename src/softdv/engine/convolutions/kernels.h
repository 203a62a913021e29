// SPDX-License-Identifier: Apache-2.0
// The inner loops of convolutions, compiled for every instruction set: each method's are in a file
// of its own, such as direct_kernel.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softdv/engine/finish/pointwise.h"
#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

// Direct convolutions. Sums stay in registers from the first product to the last. Each sum is added
// in the same order, whatever is computed beside it, so results do not depend on how work is
// divided.

constexpr size_t kPanelChannels = 16;  // channels of the result whose weights are adjacent

using DirectOffset = uint32_t;  // floats

/// Source values of a result that are multiplied one after the other: some channels of one tap, or
/// of several.
struct DirectTap {
  size_t offset;  // floats from the result's first source value
  size_t values;
  const DirectOffset* offsets;  // of each value, with a step of 8; null: values are adjacent
};

/// Source pixels that are still binary16. A 1x1 convolution makes floats of the next block's while
/// it multiplies those of the last one: processors convert beside products.
struct SourceAhead {
  const half_t* from;    // the next pixel of the source's first chunk
  float* to;             // where floats go
  const size_t* starts;  // elements from the first chunk to each of those that are converted
  size_t plane;          // floats from one of these to the next
  size_t chunks;         // number of these
  size_t tap_chunks;     // number of these that each tap converts: 1 if its values are adjacent
  size_t left;           // pixels
};

/// Result pixels whose sources are equally far apart.
struct DirectPixels {
  const float* from;  // the first pixel's first source value
  size_t step;        // floats from the source of one result to that of the next
  size_t count;
  // One of the two is set: unfinished results as floats, or finished results.
  float* floats;  // the first panel's first pixel; pixels of 8 floats, chunk by chunk
  size_t plane;   // floats from one chunk to the next
  const RegisterFinish* finish;
  SourceAhead* converted;  // moves on
};

/// Memory that is read after a convolution. It is fetched into the second-level cache meanwhile, a
/// cache line with each tap: the weights of large layers come from farther away.
struct FetchedAhead {
  const char *next, *end;
};

/// Weights that are multiplied after others, and become floats meanwhile, some with each tap.
struct WeightsAhead {
  const half_t* from;
  float* to;
  size_t left;  // values
};

/// Panels of weights, each (tap, values of the tap, kPanelChannels).
struct DirectWeights {
  const DirectTap* taps;
  size_t tap_count;
  // One of the two is set.
  const half_t* halves;
  const float* floats;
  size_t panel;  // elements from one panel to the next
  const float* bias;
  size_t chunks;  // number of chunks of 8 channels to make: two per panel, or one of the last
  // Both move on; with `halves`, nothing is converted.
  FetchedAhead* fetched;
  WeightsAhead* converted;
};

/// Returns whether few sums fit into registers, so that converting a weight takes long in relation
/// to its products.
bool registers_are_few();

/// Convolves and adds the bias.
void convolve_pixels(const DirectPixels& pixels, const DirectWeights& weights);

// Depthwise convolutions of rows of floats.

/// Computes a row of `pixels` results of 8 channels: as floats, or finished if `finish` is not
/// null, whose `slopes` repeat over 16 floats. from[y] is the source row for the y-th row of taps,
/// from the first tap of the first result on. `kernel` is 3 or 5, `stride` 1 or 2. With a stride of
/// 2 a source row has its even pixels first and, at offset `odd` floats, its odd ones.
void depthwise_row(int kernel, int stride, size_t odd, const float* const* from,
                   const DepthwiseWeights& by, size_t pixels, float* to,
                   const RegisterFinish* finish);

/// Converts pixels of 8 channels to floats: even pixels go to `first`, odd ones to `second`.
void split_pixels(const half_t* from, size_t pixels, float* first, float* second);

/// Computes two rows, one after the other, of 3x3 with a stride of 1; `from` has four rows.
void depthwise_two_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                        float* to, const RegisterFinish* finish);

/// Computes `pixels` finished maxima of 2x2 results of two such rows, which have twice as many
/// columns. `finish` has no addend; `spare` has room for the two rows.
void depthwise_pooled_rows(const float* const* from, const DepthwiseWeights& by, size_t pixels,
                           float* spare, const RegisterFinish& finish);

/// Computes all rows of a tile of the source with its zeros, `width` floats per row.
void depthwise_tile(const float* tile, size_t width, size_t rows, const DepthwiseWeights& by,
                    size_t pixels, float* to, const RegisterFinish* finish);

// Depthwise convolutions of any kernel, and of pixels that are no whole chunks.

/// Computes a row of pixels of fewer than 8 channels: weights and bias repeat over `pattern`
/// floats, a multiple of 16.
void ragged_depthwise_row(int kernel, size_t channels, size_t pattern, const float* const* from,
                          const DepthwiseWeights& by, size_t pixels, float* to);

/// Computes a row of `pixels` results of 8 channels with any taps: taps[k] is the offset of tap k
/// of the first result; results follow at `step` floats. Weights and bias repeat over 16 floats.
void depthwise_of_taps(const float* from, const size_t* taps, size_t count, size_t step,
                       const DepthwiseWeights& by, size_t pixels, float* to);

// The transforms of Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3): Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015. A tile of source pixels, two more along each
// axis than it has results, becomes as many numbers, one for each position; each is multiplied with
// the kernel's number for that position; of the sums over channels, 2x2 or 4x4 results are made.
// With three taps along one axis alone, a tile is one pixel across the other: F(2, 3) and F(4, 3).

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
