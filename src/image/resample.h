// SPDX-License-Identifier: Apache-2.0
// The vector code of resampling along x and y: a row of a plane -> a row of samples at the target's
// columns. Rows of results may be written up to kRowPadding bytes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

constexpr size_t kRowPadding = 256;

/// A unit that the CPU's vector instructions can gather: `block` bytes at once, out of `reach`
/// bytes of a row, all of which are read.
struct PickUnit {
  size_t block, reach;
};
PickUnit pick_unit();

/// A gather table: which bytes of a row become blocks. A block has `parts` equal parts: byte k of
/// block i, in part p, is the byte base[p * blocks + i] + pick[i * block + k] of the row. Where
/// `pick` is 0x80, the byte is zero or arbitrary.
struct Picks {
  const uint32_t* base;
  const uint8_t* pick;
  size_t parts;  // 1, 2, 4, ..., kMostParts
  size_t blocks;
  bool near;  // one part, and all indices are less than `block`: no more bytes are read
};
constexpr size_t kMostParts = 64;

/// Picked bytes as they are.
void copy_picked(const uint8_t* row, const Picks& picks, uint8_t* out);

/// Bilinear interpolation between two rows. A gathered block is a row of 32-bit lanes: the
/// little-endian 16-bit samples left and right of a position. `pick` is 0x80 for the upper bytes of
/// 8-bit samples and for lanes without a sample. `weights` has per lane those of the left and the
/// right sample in 1/2048, or zero. prepare_bilinear() must have processed the table. Samples use
/// `bits` bits (8 or 10), after a shift to the right by `shift`.
struct Bilinear {
  Picks picks;
  const int16_t* weights;
  int bits, shift;
};

/// Rewrites the indices of 8-bit samples, picks.pick, into the form that is looked up fastest.
void prepare_bilinear(const Picks& picks, uint8_t* pick);

/// The two rows (the same one twice where the second has no weight) and their weights, 1/2048.
struct RowPair {
  const uint8_t *above, *below;
  int above_weight, below_weight;
};

/// Rounded to 8 bits a lane. The very arithmetic of OpenCV's resize (imgproc, 8-bit INTER_LINEAR).
void interpolate_levels(const RowPair& rows, const Bilinear& bilinear, uint8_t* out);

/// Unrounded results are 0..255 times kFineUnit.
constexpr float kFineUnit = 2048 * 2048;
void interpolate_fine(const RowPair& rows, const Bilinear& bilinear, float* out);

}  // namespace dvnn::image
