// SPDX-License-Identifier: Apache-2.0
// Conditions of a track's motion on the ground: how fast it goes, and which way.
#pragma once

#include <optional>

#include "objects/object.h"

namespace dvnn::zones {

/// Directions from one clockwise to another, in degrees clockwise from the ground's y axis.
struct HeadingRange {
  double from = 0, to = 0;
};

struct MotionCondition {
  double min_speed = 0, max_speed = 0;  // metres per second; 0: any
  std::optional<HeadingRange> heading;  // nothing: any

  bool any() const { return min_speed > 0 || max_speed > 0 || heading.has_value(); }
};

/// Returns whether a track meets the condition. That begins once it surely does, and ends once it
/// surely does not, by two standard deviations; in between, and while its speed is not known, it is
/// as `before`. What stands has no heading.
bool meets(const MotionCondition& condition, const std::optional<objects::Movement>& movement,
           bool before);

}  // namespace dvnn::zones
