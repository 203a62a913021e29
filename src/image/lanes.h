// SPDX-License-Identifier: Apache-2.0
// Resamples a plane's part of a frame into rows of lanes: between two samples along each axis, or
// by area. Components of a pixel in the same plane are interleaved. Rows of results may be written
// up to kRowPadding bytes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "image/formats.h"
#include "image/geometry.h"

namespace dvnn::image {

constexpr size_t kRowPadding = 256;

// Vector code that resamples along x and y: from rows of a plane to a row of samples at the
// target's columns.

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

/// Tables that pick given bytes of a row.
class PickTable {
 public:
  static constexpr uint32_t kNothing = ~uint32_t{0};

  /// `source` has for each output byte the index of the row's byte, or kNothing for zero. Rows have
  /// at least `row_bytes` >= pick_unit().reach bytes. Zeros are added until vectors are full.
  void prepare(std::vector<uint32_t> source, size_t row_bytes);
  /// Prepares the bilinear interpolation of 8-bit samples.
  void prepare_bilinear() { image::prepare_bilinear(picks(), pick_.data()); }
  Picks picks() const { return {base_.data(), pick_.data(), parts_, blocks_, near_}; }

 private:
  bool split(const std::vector<uint32_t>& source, size_t row_bytes, size_t reach);

  size_t blocks_ = 0, parts_ = 1;
  bool near_ = true;
  std::vector<uint32_t> base_;
  AlignedVector<uint8_t> pick_;
};

class LaneTable {
 public:
  /// `components`: 1, 2, or 3 of one plane (3 with a fourth lane of zeros), equally subsampled, in
  /// the order of the lanes. `taps`: one per output pixel. `row_bytes`: bytes of a row of the
  /// plane.
  void prepare(const std::vector<Component>& components, const std::vector<Tap>& taps,
               int row_bytes);

  size_t lanes() const { return lanes_; }
  /// Interpolates a row of lanes() values from two rows of the plane: levels() rounds to u8 (8-bit
  /// samples), fine() gives 0..255 times kFineUnit without rounding.
  void levels(RowPair rows, uint8_t* out);
  void fine(RowPair rows, float* out);

 private:
  RowPair readable(const RowPair& rows);

  size_t lanes_ = 0, row_bytes_ = 0;
  int bits_ = 8, shift_ = 0;
  bool only_copies_ = false;  // every output sample is an 8-bit source sample
  PickTable copies_, pairs_;
  AlignedVector<int16_t> weights_;
  std::vector<uint8_t> short_rows_;  // copies of rows that are shorter than one read
};

/// Area resampling of a plane: first along y into a row of sums, then along x. If there are more
/// rows of results than of the plane, several blend the same two: these are resampled along x once.
class AreaTable {
 public:
  /// Prepares the tables, like LaneTable::prepare().
  void prepare(const std::vector<Component>& components, const AxisMapping& x, const AxisMapping& y,
               int row_bytes);
  /// Forgets rows that were resampled, before another frame.
  void forget();

  size_t lanes() const { return lanes_; }
  /// Computes the lanes of row `y` of the result, 0..255.
  void row(const PlaneRows& plane, int y, float* out);

 private:
  struct Resampled {
    int row = -1;  // of the plane
    std::vector<float> lanes;
  };
  void add(const PlaneRows& plane, int row, float weight);
  void sum_across(float* out) const;
  const float* resampled(const PlaneRows& plane, int row);

  std::vector<Component> components_;
  AreaTaps x_, y_;
  size_t lanes_ = 0, per_pixel_ = 1, row_samples_ = 0;
  std::vector<float> sums_;
  bool rows_are_shared_ = false;
  Resampled kept_[2];  // of an even row and an odd one
};

}  // namespace dvnn::image
