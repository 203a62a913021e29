// SPDX-License-Identifier: Apache-2.0
// The vector code of resampling along x and y: a row of a plane -> a row of samples at the target's
// columns. Rows of results may be written up to kRowPadding bytes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

constexpr size_t kRowPadding = 256;

/// What the vector instructions at hand can do: `block` bytes are picked at once, from `reach`
/// bytes of a row, all of which are read.
struct PickUnit {
  size_t block, reach;
};
PickUnit pick_unit();

/// Which bytes of a row become blocks. A block has `parts` equal parts: byte k of block i, in part
/// p, is the byte base[p * blocks + i] + pick[i * block + k] of the row. Where `pick` is 0x80, it
/// is zero or any byte.
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

/// Bilinear interpolation between two rows. A picked block is a row of lanes of 32 bits: the
/// little-endian 16-bit samples left and right of a position; the upper bytes of samples of 8 bits
/// and lanes of no sample are 0x80 in `pick`. `weights`: per lane those of the left and of the
/// right sample, 1/2048, or zero; prepare_bilinear() has seen the picks. `bits` of a sample are
/// used (8 or 10), after a shift to the right by `shift`.
struct Bilinear {
  Picks picks;
  const int16_t* weights;
  int bits, shift;
};

/// Changes the indices of samples of 8 bits, picks.pick, into what is looked up fastest.
void prepare_bilinear(const Picks& picks, uint8_t* pick);

/// The two rows (the same one twice where the second has no weight) and their weights, 1/2048.
struct RowPair {
  const uint8_t *above, *below;
  int above_weight, below_weight;
};

/// Rounded to 8 bits a lane. The very arithmetic of OpenCV's resize (imgproc, 8-bit INTER_LINEAR).
void interpolate_levels(const RowPair& rows, const Bilinear& plan, uint8_t* out);

/// Not rounded: 0..255 times kFineUnit.
constexpr float kFineUnit = 2048 * 2048;
void interpolate_fine(const RowPair& rows, const Bilinear& plan, float* out);

}  // namespace dvnn::image
