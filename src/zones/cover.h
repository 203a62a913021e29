// SPDX-License-Identifier: Apache-2.0
// How much of an area an object covers: on the ground, or in the picture.
#pragma once

#include <optional>
#include <vector>

#include "zones/geometry.h"
#include "zones/ground.h"

namespace dvnn::zones {

class Cover {
 public:
  /// Sets the area, its corners in the frame's pixels. With a ground on which all of them lie, it
  /// is compared in metres, otherwise in the picture.
  void configure(const std::vector<Point>& area, const std::optional<Ground>& ground,
                 const image::Size& frame);
  bool on_the_ground() const { return ground_.has_value(); }
  /// Returns the share of the area that an object with this box covers, 0..1. On the ground that is
  /// a square as wide as the box's lower edge, which it stands behind.
  double share(const image::Corners& box) const;

 private:
  std::vector<Corner> area_;
  double size_ = 0;
  std::optional<Ground> ground_;
  image::Size frame_;
};

}  // namespace dvnn::zones
