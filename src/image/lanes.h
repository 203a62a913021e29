// SPDX-License-Identifier: Apache-2.0
// Resamples a plane's part of a frame into rows of lanes: between two samples along each axis, or
// by area. Components of a pixel in the same plane are interleaved.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "image/formats.h"
#include "image/geometry.h"
#include "image/resample.h"

namespace dvnn::image {

/// Tables for resample.h that pick given bytes of a row.
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

/// Area resampling of a plane: first along y into a row of sums, then along x.
class AreaTable {
 public:
  /// Prepares the tables, like LaneTable::prepare(). `row_samples` counts the samples of all
  /// components in a row of the plane.
  void prepare(const std::vector<Component>& components, const AxisMapping& x, const AxisMapping& y,
               int row_bytes);

  size_t lanes() const { return lanes_; }
  /// Computes the lanes of row `y` of the result, 0..255.
  void row(const PlaneRows& plane, int y, float* out);

 private:
  std::vector<Component> components_;
  AreaTaps x_, y_;
  size_t lanes_ = 0, per_pixel_ = 1, row_samples_ = 0;
  std::vector<float> sums_;
};

}  // namespace dvnn::image
