// SPDX-License-Identifier: Apache-2.0
// How tracks move on the ground: places and speeds in metres, with their deviations.
#pragma once

#include <Eigen/Core>

#include <cstdint>
#include <map>
#include <optional>

#include "objects/object.h"
#include "zones/config.h"
#include "zones/ground.h"

namespace dvnn::zones {

/// Estimates how well boxes are placed: the variance of their feet, in pixels, by how far the
/// middle one of three places is from the straight, even way between the others. A place is the
/// mean of the sightings of some time. Errors of successive frames are alike, be it because a
/// network repeats them or because boxes were smoothed. So a mean is less exact than if they were
/// not, and the variance is that of independent errors whose means are as exact as these.
class FootNoise {
 public:
  /// Takes a foot on the ground. `size` is the box's height in pixels.
  void add(double seconds, const OnGround& foot, double size);
  /// Returns the variance of an x and a y of the picture, in square pixels.
  double variance() const;

 private:
  struct Place {
    double seconds = 0;
    Metres at;
    double sightings = 0;
  };
  void compare(const OnGround& foot);

  Place sums_;  // of the sightings since `begin_`
  double begin_ = 0;
  Place places_[3];  // the last one, and those before
  int known_ = 0;
  double sum_ = 0, weight_ = 0, size_ = 0;
};

/// The filter of one track on the ground: two models of a motion that is steady but for noise, one
/// for walking on and one for turning, starting and braking, each as likely as it explains what is
/// seen (interacting multiple models; Blom and Bar-Shalom, 1988).
class GroundFilter {
 public:
  void start(const OnGround& foot, double variance);
  void predict(double seconds);
  void correct(const OnGround& foot, double variance);
  objects::Movement movement() const;

 private:
  using State = Eigen::Vector4d;  // x, y in metres; their speeds in metres per second
  using Covariance = Eigen::Matrix4d;
  static constexpr int kModels = 2;
  struct Model {
    State state;
    Covariance covariance;
    double probability;
  };
  void mix(double seconds);
  Model merged() const;

  Model models_[kModels];
};

/// Follows the tracks of a stream on the ground. It is used by one thread.
class GroundMotion {
 public:
  /// Sets the ground and the frame's size, and forgets all tracks.
  void configure(const std::optional<Ground>& ground, const image::Size& frame);
  /// Forgets all tracks.
  void reset() { tracks_.clear(); }
  /// Takes a track's box in a frame of this time. `hidden`: it is no sighting of where the object
  /// stands, but predicted, or the frame's edge cuts it. Returns how the object moves on the
  /// ground; nothing if that is not known yet, or there is no ground there.
  std::optional<objects::Movement> see(Time time, uint64_t track, const image::Corners& box,
                                       bool hidden);
  /// Forgets tracks that were last seen before `time`.
  void forget_before(Time time);

 private:
  struct Track {
    GroundFilter filter;
    FootNoise noise;
    Time time = 0;
  };
  std::optional<Ground> ground_;
  image::Size frame_;
  std::map<uint64_t, Track> tracks_;
};

}  // namespace dvnn::zones
