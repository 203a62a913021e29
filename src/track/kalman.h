// SPDX-License-Identifier: Apache-2.0
// Estimates where a box is and how it moves, from detections at any times: all is per second, so
// that one step of 400 ms is ten of 40 ms, and neither the frame rate nor frames without inference
// change how a track behaves.
#pragma once

#include "motion/affine.h"
#include "objects/object.h"

namespace dvnn::track {

/// The motion of one coordinate. Its speed is drawn to 0 with a time constant and pushed by noise,
/// so that what nobody sees comes to rest, instead of flying on for ever.
struct Motion {
  double seconds;   // in which a speed falls to 1/e of itself
  double noise;     // spectral density of the acceleration, in the box's sizes^2 / s^3
  double walk = 0;  // of what moves a place without any speed: steps, poses, in sizes^2 / s
};

/// How much more than usual pushes places and extents: factors of the accelerations' noise.
struct Push {
  double place = 1, extent = 1;
};

/// The effect of a span of time on any coordinate of a motion, except on the box's size.
struct Step {
  Step(const Motion& motion, double seconds);

  double reach, fade;                   // of the speed: how far it carries, what is left of it
  double noise_xx, noise_xv, noise_vv;  // variances that the time adds
  double walk;                          // and that of the place alone
};

/// One coordinate and its speed, with the variances of both.
struct Axis {
  double x = 0, v = 0;
  double xx = 0, xv = 0, vv = 0;

  void predict(const Step& step, double size, double push = 1);
  void correct(double measured, double variance);
};

struct BoxStep;

/// A box by its centre, width and height, each with a speed. The coordinates do not depend on one
/// another, as all noise is independent: four small filters are the whole one.
class BoxFilter {
 public:
  BoxFilter() = default;
  /// `deviation` is that of detections, in the box's sizes.
  BoxFilter(const image::Corners& first, double deviation);

  void predict(double seconds, const Push& push = {});
  void predict(const BoxStep& step, const Push& push = {});
  void correct(const image::Corners& measured, double deviation);
  /// Sets how wide (axis 0) or high (axis 1) the box is, where that was not known: the edge on the
  /// `hidden` side, -1 the lower one or 1 the higher one, moves, and the other one keeps place and
  /// speed.
  void set_extent(int axis, double extent, int hidden);
  /// Sets how fast the box goes along an axis (0 or 1), in pixels per second, and the variance of
  /// that, where more is known than that it is new.
  void set_speed(int axis, double speed, double variance);
  /// The camera has moved: the same thing in what it shows now.
  void move(const motion::Affine& camera);
  /// Never empty, never faster than kFastest.
  image::Corners box() const;
  /// Returns how far the centre may be off: standard deviations.
  double spread_x() const;
  double spread_y() const;
  /// Pixels per second.
  double speed_x() const;
  double speed_y() const;
  const Axis& axis(int i) const { return axes_[i]; }  // x, y, width, height
  double size() const { return size_; }

  static constexpr double kFastest = 12;  // sizes per second
  // The noise keeps up speeds of 1.4 sizes per second (people walk at about one) and changes of
  // size of a fifth of one.
  static constexpr Motion kPlace{16.0, 0.25, 0.01};  // of the centre
  static constexpr Motion kExtent{1.0, 0.1, 0.003};  // of width and height

 private:
  Axis axes_[4];
  // The square root of the box's area when it was last measured. It does not change in between, so
  // that steps add up.
  double size_ = 1;
};

/// The effect of a span of time, above 0, on any box: many boxes share a frame's.
struct BoxStep {
  explicit BoxStep(double seconds)
      : seconds(seconds), place(BoxFilter::kPlace, seconds), extent(BoxFilter::kExtent, seconds) {}

  double seconds;
  Step place, extent;
};

}  // namespace dvnn::track
