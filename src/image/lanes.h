// SPDX-License-Identifier: Apache-2.0
// One plane's part of a frame, resampled along x into rows of 16-bit lanes: all components of a
// pixel that lie in the same plane side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "image/formats.h"
#include "image/geometry.h"
#include "image/kernels.h"

namespace dvnn::image {

/// Which bytes of a row become which lanes, and with which weights.
class LanePlan {
 public:
  /// `components`: 1, 2, or 3 (with a fourth lane of zeros) of one plane, of equal subsampling, in
  /// the order of the lanes; `taps` one per output pixel; `row_bytes`: what a row of the plane
  /// holds.
  void plan(const std::vector<Component>& components, const std::vector<Tap>& taps, int row_bytes);

  int plane() const { return plane_; }
  size_t lanes() const { return lanes_; }
  /// Resamples a row of the plane: lanes() values and padding.
  void resample(const uint8_t* row, uint16_t* out);
  /// Whether every output sample is a source sample of 8 bits, as where a frame keeps its width.
  bool only_copies() const { return !copy_base_.empty(); }
  /// Where only_copies(): the samples of a row as they are.
  void copy(const uint8_t* row, int16_t* levels) const;

 private:
  // A lane's two samples, bytes from the row's start.
  struct Lane {
    uint32_t first = kNowhere, second = kNowhere;
  };
  static constexpr uint32_t kNowhere = ~uint32_t{0};  // of a lane that is always zero
  bool fill_part(size_t group, size_t part, size_t from, size_t count, int row_bytes);
  bool plan_parts(int row_bytes);
  void plan_copy(int row_bytes);
  void gather(const uint8_t* row);

  int plane_ = 0, shift_ = 0, sample_bytes_ = 1;
  size_t lanes_ = 0;
  size_t groups_ = 0;
  int parts_ = 1;  // of a group; 0: rows are too short for pick_taps()
  std::vector<uint32_t> base_[4];
  std::vector<uint8_t> pick_[4];
  std::vector<uint32_t> copy_base_;  // one part gives eight lanes
  std::vector<uint8_t> copy_pick_;
  std::vector<Lane> at_;
  std::vector<uint16_t> first_weight_, second_weight_;
  std::vector<uint16_t> taps_;  // of the row at hand
};

}  // namespace dvnn::image
