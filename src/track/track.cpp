// SPDX-License-Identifier: Apache-2.0
#include "track/track.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

constexpr Time kHeadingTime = 250 * kMillisecond;
constexpr double kUsualSeconds = 1;

}  // namespace

void Heading::start(Time time, const image::Corners& box) {
  last_ = {time, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2};
  far_ = near_ = last_;
}

void Heading::add(Time time, const image::Corners& box) {
  if (last_.time - near_.time >= kHeadingTime) {
    far_ = near_;
    near_ = last_;
  }
  last_ = {time, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2};
}

void Heading::move(const motion::Affine& camera) {
  for (Point* point : {&far_, &near_, &last_}) camera.apply(&point->x, &point->y);
}

void Heading::way(double* x, double* y) const {
  *x = last_.x - far_.x;
  *y = last_.y - far_.y;
}

void UsualHeight::add(double logarithm, double seconds) {
  const double share = std::max(1.0 / ++count_, seconds / (seconds + kUsualSeconds));
  logarithm_ += share * (logarithm - logarithm_);
}

void UsualHeight::scale(double factor) {
  logarithm_ += std::log(factor);
}

void Path::clear() {
  points_.clear();
  step_ = 0;
  last_is_extra_ = false;
}

// If the list is full, drops every second point and doubles the interval. The last sighting is
// always included: the next one replaces it if it came sooner than the interval.
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
