// SPDX-License-Identifier: Apache-2.0
// Vector code that resamples along x and y: from rows of a plane to a row of samples at the
// target's columns. Rows of results may be written up to kRowPadding bytes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

constexpr size_t kRowPadding = 256;

/// What the CPU's vector instructions can gather at once: `block` bytes out of `reach` bytes of a
/// row, all of which are read.
struct PickUnit {
  size_t block, reach;
};
PickUnit pick_unit();

/// A gather table: which bytes of a row form blocks. A block has `parts` equal parts: byte k of
/// block i, in part p, is byte base[p * blocks + i] + pick[i * block + k] of the row. If `pick` is
/// 0x80, the byte is zero or arbitrary.
struct Picks {
  const uint32_t* base;
  const uint8_t* pick;
  size_t parts;  // 1, 2, 4, ..., kMostParts
  size_t blocks;
  bool near;  // one part with indices below `block`, so no more bytes are read
};
constexpr size_t kMostParts = 64;

/// Copies the picked bytes.
void copy_picked(const uint8_t* row, const Picks& picks, uint8_t* out);

/// Bilinear interpolation between two rows. A gathered block is a row of 32-bit lanes, each with
/// the little-endian 16-bit samples left and right of a position. `pick` is 0x80 for the upper
/// bytes of 8-bit samples and for lanes without a sample. `weights` has per lane those of the left
/// and right samples in 1/2048, or zero. prepare_bilinear() must have processed the table. Samples
/// have `bits` bits (8 or 10), after a right shift by `shift`.
struct Bilinear {
  Picks picks;
  const int16_t* weights;
  int bits, shift;
};

/// Rewrites picks.pick, the indices of 8-bit samples, into the form with the fastest lookup.
void prepare_bilinear(const Picks& picks, uint8_t* pick);

/// Two rows and their weights in 1/2048. The rows are the same if the second one has no weight.
struct RowPair {
  const uint8_t *above, *below;
  int above_weight, below_weight;
};

/// Interpolates and rounds to 8 bits per lane, with exactly the arithmetic of OpenCV's resize
/// (imgproc, 8-bit INTER_LINEAR).
void interpolate_levels(const RowPair& rows, const Bilinear& bilinear, uint8_t* out);

/// Scale of interpolate_fine()'s unrounded results of 0..255.
constexpr float kFineUnit = 2048 * 2048;
void interpolate_fine(const RowPair& rows, const Bilinear& bilinear, float* out);

}  // namespace dvnn::image
