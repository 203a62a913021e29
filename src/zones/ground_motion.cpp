// SPDX-License-Identifier: Apache-2.0
#include "zones/ground_motion.h"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dvnn::zones {
namespace {

using Eigen::Matrix2d;
using Eigen::Matrix4d;
using Eigen::Vector2d;

// Of the acceleration of each model: spectral density in m^2/s^3. A person who walks on varies by
// 0.05 m/s within a second, one who turns by more than their speed.
constexpr double kPush[] = {0.003, 3};
// Mean time in seconds that a motion stays in each model.
constexpr double kStays[] = {8, 1};
constexpr double kFirstSpeed = 10;  // standard deviation of a new track's speed, m/s
// What is expected of detectors before a track shows it: standard deviation of a foot in heights of
// the box, counted like so many sightings.
constexpr double kUsualNoise = 0.02, kUsualWeight = 5;
constexpr double kLeastNoise = 0.25;  // pixels: boxes are no more exact
constexpr double kMemory = 100;       // places over which noise is averaged
// Seconds over which sightings are one place: longer than errors stay alike, and so short that one
// who turns hardly leaves the straight way.
constexpr double kAlike = 0.19;
constexpr double kLongestGap = 1.0;    // seconds between three sightings that tell noise
constexpr double kFastestKnown = 200;  // m/s: what is faster is no motion, but another object

double seconds_of(Time time) {
  return static_cast<double>(time) * 1e-9;
}

Matrix2d slope_of(const OnGround& foot) {
  Matrix2d slope;
  slope << foot.xx, foot.xy, foot.yx, foot.yy;
  return slope;
}

}  // namespace

void FootNoise::add(double seconds, const OnGround& foot, double size) {
  size_ = size;
  if (sums_.sightings > 0 && seconds - begin_ > kAlike) {
    const double count = sums_.sightings;
    places_[2] = places_[1];
    places_[1] = places_[0];
    places_[0] = {sums_.seconds / count, {sums_.at.x / count, sums_.at.y / count}, count};
    sums_ = {};
    known_ = std::min(known_ + 1, 3);
    if (known_ == 3) compare(foot);
  }
  if (sums_.sightings == 0) begin_ = seconds;
  sums_.seconds += seconds;
  sums_.at = {sums_.at.x + foot.at.x, sums_.at.y + foot.at.y};
  sums_.sightings += 1;
}

// Adds what the last three places tell. `foot`: where the object is now, for metres per pixel.
void FootNoise::compare(const OnGround& foot) {
  const Place &last = places_[0], &middle = places_[1], &first = places_[2];
  const double whole = last.seconds - first.seconds, half = middle.seconds - first.seconds;
  if (!(half > 0 && whole > half && whole < 2 * kLongestGap)) return;
  const double after = half / whole, before = 1 - after;
  const Vector2d off(middle.at.x - before * first.at.x - after * last.at.x,
                     middle.at.y - before * first.at.y - after * last.at.y);
  const Vector2d pixels = slope_of(foot).partialPivLu().solve(off);
  const double shares =
      before * before / first.sightings + 1 / middle.sightings + after * after / last.sightings;
  const double square = pixels.squaredNorm() / (2 * shares);
  if (!std::isfinite(square)) return;
  constexpr double kFade = 1 - 1 / kMemory;
  sum_ = sum_ * kFade + square;
  weight_ = weight_ * kFade + 1;
}

double FootNoise::variance() const {
  const double usual = kUsualNoise * size_;
  return std::max(kLeastNoise * kLeastNoise,
                  (sum_ + kUsualWeight * usual * usual) / (weight_ + kUsualWeight));
}

void GroundFilter::start(const OnGround& foot, double variance) {
  const Matrix2d slope = slope_of(foot);
  for (Model& model : models_) {
    model.state << foot.at.x, foot.at.y, 0, 0;
    model.covariance.setZero();
    model.covariance.topLeftCorner<2, 2>() = variance * slope * slope.transpose();
    model.covariance(2, 2) = model.covariance(3, 3) = kFirstSpeed * kFirstSpeed;
    model.probability = 1.0 / kModels;
  }
}

// Lets each model begin where the motion is, if it has just changed to that model.
void GroundFilter::mix(double seconds) {
  double moves[kModels][kModels];
  for (int from = 0; from < kModels; ++from) {
    const double leaves = 1 - std::exp(-seconds / kStays[from]);
    for (int to = 0; to < kModels; ++to) moves[from][to] = from == to ? 1 - leaves : leaves;
  }
  Model mixed[kModels];
  for (int to = 0; to < kModels; ++to) {
    Model& model = mixed[to];
    model.probability = 0;
    for (int from = 0; from < kModels; ++from) {
      model.probability += moves[from][to] * models_[from].probability;
    }
    model.state.setZero();
    model.covariance.setZero();
    for (int from = 0; from < kModels; ++from) {
      const double share = moves[from][to] * models_[from].probability / model.probability;
      model.state += share * models_[from].state;
    }
    for (int from = 0; from < kModels; ++from) {
      const double share = moves[from][to] * models_[from].probability / model.probability;
      const State off = models_[from].state - model.state;
      model.covariance += share * (models_[from].covariance + off * off.transpose());
    }
  }
  std::copy(std::begin(mixed), std::end(mixed), std::begin(models_));
}

void GroundFilter::predict(double seconds) {
  mix(seconds);
  Matrix4d step = Matrix4d::Identity();
  step(0, 2) = step(1, 3) = seconds;
  for (int i = 0; i < kModels; ++i) {
    Model& model = models_[i];
    model.state = step * model.state;
    model.covariance = step * model.covariance * step.transpose();
    for (int axis = 0; axis < 2; ++axis) {
      model.covariance(axis, axis) += kPush[i] * seconds * seconds * seconds / 3;
      model.covariance(axis, axis + 2) += kPush[i] * seconds * seconds / 2;
      model.covariance(axis + 2, axis) += kPush[i] * seconds * seconds / 2;
      model.covariance(axis + 2, axis + 2) += kPush[i] * seconds;
    }
  }
}

void GroundFilter::correct(const OnGround& foot, double variance) {
  const Matrix2d slope = slope_of(foot);
  double sum = 0, logs[kModels], most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kModels; ++i) {
    Model& model = models_[i];
    const Vector2d off = Vector2d(foot.at.x, foot.at.y) - model.state.head<2>();
    const Matrix2d expected =
        model.covariance.topLeftCorner<2, 2>() + variance * slope * slope.transpose();
    const Matrix2d inverse = expected.inverse();
    const Eigen::Matrix<double, 4, 2> gain = model.covariance.leftCols<2>() * inverse;
    logs[i] = -0.5 * (off.dot(inverse * off) + std::log(expected.determinant()));
    most = std::max(most, logs[i]);
    model.state += gain * off;
    model.covariance -= gain * model.covariance.topRows<2>();
    // Rounding must not let the two halves drift apart.
    model.covariance = (0.5 * (model.covariance + model.covariance.transpose())).eval();
  }
  for (int i = 0; i < kModels; ++i) {
    models_[i].probability *= std::max(std::exp(logs[i] - most), 1e-30);
    sum += models_[i].probability;
  }
  for (Model& model : models_) model.probability /= sum;
}

GroundFilter::Model GroundFilter::merged() const {
  Model all{State::Zero(), Covariance::Zero(), 1};
  for (const Model& model : models_) all.state += model.probability * model.state;
  for (const Model& model : models_) {
    const State off = model.state - all.state;
    all.covariance += model.probability * (model.covariance + off * off.transpose());
  }
  return all;
}

objects::Movement GroundFilter::movement() const {
  const Model all = merged();
  const auto speed = all.state.tail<2>();
  const Matrix2d spread = all.covariance.bottomRightCorner<2, 2>();
  objects::Movement movement;
  movement.x = all.state[0];
  movement.y = all.state[1];
  movement.deviation = std::sqrt(std::max(0.0, all.covariance(0, 0) + all.covariance(1, 1)) / 2);
  movement.speed_deviation = std::sqrt(std::max(0.0, spread.trace()) / 2);
  // The length of a vector with noise is too large on average; what stands would seem to move.
  movement.speed = std::sqrt(std::max(0.0, speed.squaredNorm() - spread.trace()));
  movement.heading = std::fmod(std::atan2(speed.x(), speed.y()) * 180 / M_PI + 360, 360);
  return movement;
}

void GroundMotion::configure(const std::optional<Ground>& ground, const image::Size& frame) {
  ground_ = ground;
  frame_ = frame;
  reset();
}

std::optional<objects::Movement> GroundMotion::see(Time time, uint64_t track,
                                                   const image::Corners& box, bool hidden) {
  if (!ground_) return {};
  const auto foot = on_ground(*ground_, frame_, (box.x0 + box.x1) / 2, box.y1);
  const auto known = tracks_.find(track);
  if (!foot || (known == tracks_.end() && hidden)) return {};
  if (known == tracks_.end()) {
    Track& made = tracks_[track];
    made.noise.add(seconds_of(time), *foot, box.y1 - box.y0);
    made.filter.start(*foot, made.noise.variance());
    made.time = time;
    return made.filter.movement();
  }
  Track& now = known->second;
  if (time > now.time) {
    now.filter.predict(seconds_of(time - now.time));
    now.time = time;
    if (!hidden) {
      now.noise.add(seconds_of(time), *foot, box.y1 - box.y0);
      now.filter.correct(*foot, now.noise.variance());
    }
  }
  const objects::Movement movement = now.filter.movement();
  if (std::isfinite(movement.speed) && movement.speed < kFastestKnown) return movement;
  tracks_.erase(known);
  return {};
}

void GroundMotion::forget_before(Time time) {
  for (auto track = tracks_.begin(); track != tracks_.end();) {
    track = track->second.time < time ? tracks_.erase(track) : std::next(track);
  }
}

}  // namespace dvnn::zones
