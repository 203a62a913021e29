// SPDX-License-Identifier: Apache-2.0
#include "track/track.h"

namespace dvnn::track {

void Path::clear() {
  points_.clear();
  step_ = 0;
  last_is_extra_ = false;
}

// A full list loses every second point, and from then on points are twice as far apart. The last
// sighting is always there: it gives way to the next one if it came too early.
void Path::add(Time time, const image::Corners& box) {
  if (last_is_extra_) points_.pop_back();
  if (points_.size() == kMost) {
    size_t kept = 0;
    for (size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
    points_.resize(kept);
    step_ = (points_.back().time - points_.front().time) / static_cast<Time>(kept - 1);
  }
  last_is_extra_ = points_.size() > 1 && time - points_.back().time < step_;
  points_.push_back({time, box});
}

}  // namespace dvnn::track
