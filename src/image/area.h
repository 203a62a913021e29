// SPDX-License-Identifier: Apache-2.0
// Area resampling of a plane: first along y into a row of sums, then along x.
#pragma once

#include <vector>

#include "image/formats.h"
#include "image/geometry.h"

namespace dvnn::image {

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
