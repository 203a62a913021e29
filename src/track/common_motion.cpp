// SPDX-License-Identifier: Apache-2.0
#include "track/common_motion.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

constexpr size_t kFewest = 4;          // detections needed to estimate a shift
constexpr size_t kFewestSlopes = 8;    // and to estimate growth and rotation
constexpr int kPasses = 3;             // of least squares, each with less weight on outliers
constexpr double kLikely = 1.5;        // deviations beyond which a detection counts less
constexpr double kLoss = 1.5;          // factor of the mean's variance that Huber's weights cost
constexpr double kNewVariance = 0.02;  // least weight of a frame in the learned variances
// Least share of a motion that is attributed to the camera; below it, the camera stands still.
constexpr double kLeastShare = 0.05;
constexpr double kMostWidened = 1;  // how far boxes may be widened, in their widths and heights

// Returns Huber's weight of a deviation; `root` is the square root of `weight`.
double robust(double off, double weight, double root) {
  const double deviations = std::fabs(off) * root;
  return deviations > kLikely ? weight * (kLikely / deviations) : weight;
}

}  // namespace

void CommonMotion::add(double x, double y, double off_x, double off_y, double variance_x,
                       double variance_y) {
  const double weight_x = 1 / variance_x, weight_y = 1 / variance_y;
  matches_.push_back(
      {{x, y}, {off_x, off_y}, {weight_x, weight_y}, {std::sqrt(weight_x), std::sqrt(weight_y)}});
}

void CommonMotion::find_middle() {
  for (int axis = 0; axis < 2; ++axis) {
    double sum = 0, weights = 0;
    for (const Match& match : matches_) {
      sum += match.weight[axis] * match.at[axis];
      weights += match.weight[axis];
    }
    middle_[axis] = sum / weights;
  }
}

// Finds the weighted median: the value at which the weights, summed up from the smallest value on,
// reach `half`. Splits the part of the list that has it at one of its values until one value is
// left. The loop has no branch, because on which side a value lies cannot be predicted.
double CommonMotion::median_of_offs(double half) {
  auto first = offs_.begin(), last = offs_.end();
  while (last - first > 1) {
    const double pivot = (first + (last - first) / 2)->off;
    double below = 0;
    const auto split = [&](auto is_below) {
      auto end = first;
      below = 0;
      for (auto at = first; at != last; ++at) {
        const Off off = *at;
        const bool is = is_below(off.off);
        *at = *end;
        *end = off;
        below += is ? off.weight : 0;
        end += is;
      }
      return end;
    };
    auto middle = split([pivot](double off) { return off < pivot; });
    if (middle == first) {  // the pivot is the smallest value
      middle = split([pivot](double off) { return off <= pivot; });
      if (below >= half || middle == last) return pivot;
    }
    if (below >= half) {
      last = middle;
    } else {
      half -= below;
      first = middle;
    }
  }
  return first->off;
}

// Estimates the shift along an axis: the median finds outliers, and the mean with Huber's weights
// is the shift.
CommonMotion::Estimate CommonMotion::shift_of(int axis, double growth, double turn) {
  const int other = 1 - axis;
  offs_.clear();
  for (const Match& match : matches_) {
    const double along = match.at[axis] - middle_[axis], across = match.at[other] - middle_[other];
    const double sloped = growth * along + (axis == 0 ? -turn : turn) * across;
    offs_.push_back({match.off[axis] - sloped, match.weight[axis], match.root[axis]});
  }
  double all = 0, sum = 0, weights = 0;
  for (const Off& off : offs_) all += off.weight;
  const double median = median_of_offs(all / 2);
  for (const Off& off : offs_) {
    const double weight = robust(off.off - median, off.weight, off.root);
    sum += weight * off.off;
    weights += weight;
  }
  const double shift = sum / weights;
  // Objects that move on their own spread wider than filter and detector explain.
  double spread = 0;
  for (const Off& off : offs_) spread += off.weight * (off.off - shift) * (off.off - shift);
  const double others = static_cast<double>(offs_.size() - 1);
  return {shift, std::max(kLoss / weights, spread / (all * others))};
}

// Estimates growth from the centre of the detections, or rotation around it, per pixel of distance:
// by least squares, with less weight on outliers from pass to pass.
CommonMotion::Estimate CommonMotion::slope_of(bool turns, const Estimate shifts[2], double guess,
                                              int passes) const {
  Estimate slope;
  slope.value = guess;
  for (int pass = 0; pass < passes; ++pass) {
    double sum = 0, all = 0, weights = 0, spread = 0;
    for (const Match& match : matches_) {
      const double x = match.at[0] - middle_[0], y = match.at[1] - middle_[1];
      const double arms[2] = {turns ? -y : x, turns ? x : y};
      for (int axis = 0; axis < 2; ++axis) {
        const double off = match.off[axis] - shifts[axis].value, arm = arms[axis];
        const double rest = off - slope.value * arm;
        const double weight = robust(rest, match.weight[axis], match.root[axis]);
        sum += weight * arm * off;
        weights += weight * arm * arm;
        all += match.weight[axis] * arm * arm;
        spread += match.weight[axis] * rest * rest;
      }
    }
    if (!(weights > 0)) return {};
    const double others = static_cast<double>(2 * matches_.size() - 4);
    slope = {sum / weights, std::max(kLoss / weights, spread / (all * others))};
  }
  return slope;
}

// Returns the part of a motion that is the camera's: the gain of a Kalman filter times the motion.
double CommonMotion::Kind::camera_part(const Estimate& estimate) {
  const double share = variance / (variance + estimate.error);
  const double square = estimate.value * estimate.value - estimate.error;
  variance += std::max(kNewVariance, 1.0 / ++frames) * (square - variance);
  variance = std::max(0.0, variance);
  return share < kLeastShare ? 0 : share * estimate.value;
}

void CommonMotion::widen(std::vector<Candidate>* expected) const {
  const double growth = growth_.variance, turn = turn_.variance;
  for (Candidate& candidate : *expected) {
    const image::Corners& box = candidate.box;
    const double x = (box.x0 + box.x1) / 2 - middle_[0], y = (box.y0 + box.y1) / 2 - middle_[1];
    const double more_x = std::sqrt(shifts_[0].variance + growth * x * x + turn * y * y);
    const double more_y = std::sqrt(shifts_[1].variance + growth * y * y + turn * x * x);
    candidate.slack_x = std::min(candidate.slack_x + more_x, kMostWidened * (box.x1 - box.x0));
    candidate.slack_y = std::min(candidate.slack_y + more_y, kMostWidened * (box.y1 - box.y0));
  }
}

motion::Affine CommonMotion::solve() {
  if (matches_.size() < kFewest) return {};
  find_middle();
  Estimate shifts[2], growth, turn;
  for (int axis = 0; axis < 2; ++axis) shifts[axis] = shift_of(axis, 0, 0);
  double grown = 0, turned = 0;
  if (matches_.size() >= kFewestSlopes) {
    growth = slope_of(false, shifts, 0, kPasses);
    turn = slope_of(true, shifts, 0, kPasses);
    for (int axis = 0; axis < 2; ++axis) shifts[axis] = shift_of(axis, growth.value, turn.value);
    grown = growth_.camera_part(slope_of(false, shifts, growth.value, 1));
    turned = turn_.camera_part(slope_of(true, shifts, turn.value, 1));
  }
  const double x = shifts_[0].camera_part(shifts[0]), y = shifts_[1].camera_part(shifts[1]);
  return {1 + grown, -turned,   x - grown * middle_[0] + turned * middle_[1],
          turned,    1 + grown, y - grown * middle_[1] - turned * middle_[0]};
}

}  // namespace dvnn::track
