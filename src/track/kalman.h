// SPDX-License-Identifier: Apache-2.0
// Kalman filter of a box's place, size and speeds. Everything is per second, so that one step of
// 400 ms equals ten of 40 ms, and neither the frame rate nor frames without inference change how a
// track behaves.
#pragma once

#include "motion/affine.h"
#include "objects/object.h"

namespace dvnn::track {

/// Motion model of a coordinate: its speed decays with a time constant and is pushed by noise, so
/// that an unseen object comes to rest instead of flying on for ever.
struct Motion {
  double seconds;   // in which a speed decays to 1/e
  double noise;     // spectral density of the acceleration, sizes^2 / s^3
  double walk = 0;  // diffusion of the place itself (steps, poses), sizes^2 / s
};

/// Factors on the noise of accelerations of the centre and of width and height. 1 is usual.
struct Push {
  double place = 1, extent = 1;
};

/// The effect of a span of time on a coordinate, per unit of the box's size.
struct Step {
  Step(const Motion& motion, double seconds);

  double reach, fade;                   // distance per speed; share of the speed that is left
  double noise_xx, noise_xv, noise_vv;  // variances of place and speed that the time adds
  double walk;                          // additional variance of the place
};

/// A coordinate and its speed, with their covariances.
struct Axis {
  double x = 0, v = 0;
  double xx = 0, xv = 0, vv = 0;

  void predict(const Step& step, double size, double push = 1);
  void correct(double measured, double variance);
};

struct BoxStep;

/// A box as centre, width and height, each with a speed. Their noises are independent, so four
/// filters of two states are exactly the filter of eight.
class BoxFilter {
 public:
  BoxFilter() = default;
  /// `deviation`: standard deviation of detections, in sizes of the box.
  BoxFilter(const image::Corners& first, double deviation);

  void predict(double seconds, const Push& push = {});
  void predict(const BoxStep& step, const Push& push = {});
  void correct(const image::Corners& measured, double deviation);
  /// Sets a width (axis 0) or height (axis 1) that was unknown. The edge on the `hidden` side (-1
  /// lower, 1 higher) moves; the other one keeps its place and speed.
  void set_extent(int axis, double extent, int hidden);
  /// Sets the speed along an axis (0: x, 1: y), pixels per second, and its variance, if more is
  /// known than for any new box.
  void set_speed(int axis, double speed, double variance);
  /// Sets all speeds to 0; how fast it may be soon is as uncertain as before.
  void halt();
  /// Follows a motion of the camera.
  void move(const motion::Affine& camera);
  /// Returns the box; width and height are at least a pixel.
  image::Corners box() const;
  /// Returns the standard deviation of the centre, pixels.
  double spread_x() const;
  double spread_y() const;
  /// Returns the centre's speed, pixels per second.
  double speed_x() const;
  double speed_y() const;
  const Axis& axis(int i) const { return axes_[i]; }  // x, y, width, height
  double size() const { return size_; }

  static constexpr double kFastest = 12;  // limit of the centre's speed, sizes per second
  // With this noise, speeds are about 1.4 sizes per second (people walk at about 1), and sizes
  // change by about a fifth per second.
  static constexpr Motion kPlace{16.0, 0.25, 0.01};  // of the centre
  static constexpr Motion kExtent{1.0, 0.1, 0.003};  // of width and height

 private:
  Axis axes_[4];
  // Square root of the box's area when its size was last measured. It stays constant in between, so
  // that steps add up.
  double size_ = 1;
};

/// The effect of a span of time, above 0 seconds, on a box. Most boxes of a frame share it.
struct BoxStep {
  explicit BoxStep(double seconds)
      : seconds(seconds), place(BoxFilter::kPlace, seconds), extent(BoxFilter::kExtent, seconds) {}

  double seconds;
  Step place, extent;
};

}  // namespace dvnn::track
