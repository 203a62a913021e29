// SPDX-License-Identifier: Apache-2.0
#include "track/kalman.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

constexpr double kLeastSize = 1;  // pixels

double size_of(double width, double height) {
  return std::max(kLeastSize, std::sqrt(std::max(0.0, width) * std::max(0.0, height)));
}

// Returns the state of a new coordinate: at rest, with the variance of speed that the noise
// sustains.
Axis first_axis(double x, const Motion& motion, double size, double deviation) {
  Axis axis;
  axis.x = x;
  axis.xx = deviation * deviation * size * size;
  axis.vv = motion.noise * motion.seconds / 2 * size * size;
  return axis;
}

}  // namespace

// Computes the integrals of an Ornstein-Uhlenbeck process over `seconds`.
Step::Step(const Motion& motion, double seconds) {
  const double tau = motion.seconds, a = seconds / tau, q = motion.noise;
  fade = std::exp(-a);
  const double gone = -std::expm1(-a);
  reach = tau * gone;
  noise_vv = q * tau / 2 * -std::expm1(-2 * a);
  noise_xv = q * tau * tau / 2 * gone * gone;
  // For shorter steps, the difference below would cancel to nothing, so a series replaces it.
  constexpr double kSmall = 1e-2;
  const double shape = a < kSmall ? a * a * a * (2.0 / 3 - a / 2 + a * a * 7 / 30)
                                  : 2 * a - 3 + 4 * fade - fade * fade;
  noise_xx = q * tau * tau * tau / 2 * shape;
  walk = motion.walk * seconds;
}

void Axis::predict(const Step& step, double size, double push) {
  const double area = push * size * size;
  x += step.reach * v;
  v *= step.fade;
  xx += 2 * step.reach * xv + step.reach * step.reach * vv + step.noise_xx * area +
        step.walk * size * size;
  xv = step.fade * (xv + step.reach * vv) + step.noise_xv * area;
  vv = step.fade * step.fade * vv + step.noise_vv * area;
}

void Axis::correct(double measured, double variance) {
  const double all = xx + variance, gain_x = xx / all, gain_v = xv / all, off = measured - x;
  x += gain_x * off;
  v += gain_v * off;
  vv -= gain_v * xv;
  xv *= 1 - gain_x;
  xx *= 1 - gain_x;
}

BoxFilter::BoxFilter(const image::Corners& first, double deviation) {
  const double width = first.x1 - first.x0, height = first.y1 - first.y0;
  size_ = size_of(width, height);
  axes_[0] = first_axis((first.x0 + first.x1) / 2, kPlace, size_, deviation);
  axes_[1] = first_axis((first.y0 + first.y1) / 2, kPlace, size_, deviation);
  axes_[2] = first_axis(width, kExtent, size_, deviation);
  axes_[3] = first_axis(height, kExtent, size_, deviation);
}

void BoxFilter::predict(double seconds, const Push& push) {
  if (seconds > 0) predict(BoxStep(seconds), push);
}

void BoxFilter::predict(const BoxStep& step, const Push& push) {
  axes_[0].predict(step.place, size_, push.place);
  axes_[1].predict(step.place, size_, push.place);
  axes_[2].predict(step.extent, size_, push.extent);
  axes_[3].predict(step.extent, size_, push.extent);
}

void BoxFilter::move(const motion::Affine& camera) {
  camera.apply(&axes_[0].x, &axes_[1].x);
  camera.turn(&axes_[0].v, &axes_[1].v);
  const double scale = camera.scale();
  for (int i = 2; i < 4; ++i) {
    axes_[i].x *= scale;
    axes_[i].v *= scale;
  }
  for (Axis& axis : axes_) {
    axis.xx *= scale * scale;
    axis.xv *= scale * scale;
    axis.vv *= scale * scale;
  }
  size_ *= scale;
}

void BoxFilter::correct(const image::Corners& measured, double deviation) {
  const double width = measured.x1 - measured.x0, height = measured.y1 - measured.y0;
  const double off = deviation * size_of(width, height), variance = off * off;
  axes_[0].correct((measured.x0 + measured.x1) / 2, variance);
  axes_[1].correct((measured.y0 + measured.y1) / 2, variance);
  axes_[2].correct(width, variance);
  axes_[3].correct(height, variance);
  size_ = size_of(axes_[2].x, axes_[3].x);
  const double limit = kFastest * size_;
  axes_[0].v = std::clamp(axes_[0].v, -limit, limit);
  axes_[1].v = std::clamp(axes_[1].v, -limit, limit);
}

void BoxFilter::set_extent(int axis, double extent, int hidden) {
  Axis& length = axes_[2 + axis];
  axes_[axis].x += hidden * (extent - length.x) / 2;
  length.x = extent;
  length.v = 0;
  size_ = size_of(axes_[2].x, axes_[3].x);
}

void BoxFilter::set_speed(int axis, double speed, double variance) {
  axes_[axis].v = speed;
  axes_[axis].vv = variance;
}

void BoxFilter::halt() {
  for (Axis& axis : axes_) axis.v = axis.xv = 0;
}

image::Corners BoxFilter::box() const {
  const double half_width = std::max(kLeastSize, axes_[2].x) / 2;
  const double half_height = std::max(kLeastSize, axes_[3].x) / 2;
  return {axes_[0].x - half_width, axes_[1].x - half_height, axes_[0].x + half_width,
          axes_[1].x + half_height};
}

double BoxFilter::spread_x() const {
  return std::sqrt(axes_[0].xx);
}

double BoxFilter::spread_y() const {
  return std::sqrt(axes_[1].xx);
}

double BoxFilter::speed_x() const {
  return axes_[0].v;
}

double BoxFilter::speed_y() const {
  return axes_[1].v;
}

}  // namespace dvnn::track
