// SPDX-License-Identifier: Apache-2.0
// Turns the heat of the ground, or of the picture, into a grid over the frame, as it is drawn.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "meta/zoneshapesmeta.h"
#include "motion/affine.h"
#include "zones/heat.h"

namespace dvnn::gst {

class HeatPicture {
 public:
  /// Sets the ground and the frame's size.
  void configure(const std::optional<zones::Ground>& ground, const image::Size& frame);
  /// Returns the grid at a time, null without heat. It is made anew once a second, as seconds per
  /// cell change slowly, and when the camera moves. `camera`: its motion since the zones were set.
  std::shared_ptr<const HeatGrid> at(zones::Time time, const zones::Heat& heat,
                                     const motion::Affine& camera);

 private:
  struct Cell {
    int32_t column = 0, row = 0;
    bool there = false;
  };
  void find_cells(const zones::Heat& heat, const motion::Affine& camera);

  std::optional<zones::Ground> ground_;
  image::Size frame_;
  int columns_ = 0, rows_ = 0;
  std::vector<Cell> cells_;  // of samples in the grid; empty: to be found
  motion::Affine camera_;
  std::shared_ptr<const HeatGrid> grid_;
  zones::Time drawn_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace dvnn::gst
