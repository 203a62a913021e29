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

namespace {

// Ratio of an object's length to its visible part at the frame's edge: at most, and if nothing is
// known about the object.
constexpr double kMostHidden = 2.5;
constexpr double kUsuallyHidden = 1.5;

// Returns the whole length of an object along an axis: if the frame's edge cuts it, the remembered
// one, else the one that its other side and the shape of its class suggest (`alike`, 0 if unknown).
double extent_of(double visible, int cut, unsigned known, double remembered, double alike) {
  if (cut == 0) return visible;
  if (known > 0) return std::max(visible, remembered);
  return alike > 0 ? std::clamp(alike, visible, kMostHidden * visible) : kUsuallyHidden * visible;
}

// Moves the edge on the `cut` side so that the length becomes `extent`. The visible edge stays.
void extend(double extent, int cut, double* low, double* high) {
  if (cut < 0) *low = *high - extent;
  if (cut > 0) *high = *low + extent;
}

}  // namespace

image::Corners with_hidden_part(image::Corners box, const Cuts& cuts, double shape,
                                const Track& track) {
  const double width = box.x1 - box.x0, height = box.y1 - box.y0;
  extend(extent_of(width, cuts.x, track.whole_widths, track.filter.axis(2).x,
                   cuts.height ? 0 : shape * height),
         cuts.x, &box.x0, &box.x1);
  extend(extent_of(height, cuts.y, track.whole_heights, track.filter.axis(3).x,
                   cuts.width || shape == 0 ? 0 : width / shape),
         cuts.y, &box.y0, &box.y1);
  return box;
}

void set_unknown_extents(const image::Corners& whole, Track* track) {
  const double width = whole.x1 - whole.x0, height = whole.y1 - whole.y0;
  if (track->whole_widths == 0 && track->cuts.x != 0) {
    track->filter.set_extent(0, width, track->cuts.x);
    extend(width, track->cuts.x, &track->whole.x0, &track->whole.x1);
  }
  if (track->whole_heights == 0 && track->cuts.y != 0) {
    track->filter.set_extent(1, height, track->cuts.y);
    extend(height, track->cuts.y, &track->whole.y0, &track->whole.y1);
  }
}

}  // namespace dvnn::track
