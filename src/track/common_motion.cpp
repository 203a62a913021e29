// SPDX-License-Identifier: Apache-2.0
#include "track/common_motion.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

constexpr size_t kFewest = 4;        // detections that tell what is common
constexpr double kLikely = 1.5;      // deviations beyond which one counts less
constexpr double kLoss = 1.5;        // of the mean's variance by counting those less
constexpr double kNewVariance = 0.02;  // share of a frame in what is known of the camera

}  // namespace

void CommonMotion::begin() {
  for (auto& offs : offs_) offs.clear();
}

void CommonMotion::add(double x, double y, double variance_x, double variance_y) {
  offs_[0].push_back({x, 1 / variance_x});
  offs_[1].push_back({y, 1 / variance_y});
}

// The median says who is far from the others; the mean of those who are near, weighted as Huber
// does, is the shift. Its share that is the camera's is as in a Kalman filter.
double CommonMotion::shift_of(std::vector<Off>* offs, double* variance) const {
  std::sort(offs->begin(), offs->end(), [](const Off& a, const Off& b) {
    return a.off < b.off || (a.off == b.off && a.weight < b.weight);
  });
  double all = 0, below = 0, median = 0;
  for (const Off& off : *offs) all += off.weight;
  for (const Off& off : *offs) {
    median = off.off;
    if ((below += off.weight) >= all / 2) break;
  }
  double sum = 0, weights = 0;
  for (const Off& off : *offs) {
    const double far = std::fabs(off.off - median) * std::sqrt(off.weight);
    const double weight = off.weight * std::min(1.0, kLikely / far);
    sum += weight * off.off;
    weights += weight;
  }
  const double shift = sum / weights, error = kLoss / weights;
  const double likely = shift * *variance / (*variance + error);
  *variance = std::max(0.0, *variance + kNewVariance * (shift * shift - error - *variance));
  return likely;
}

motion::Affine CommonMotion::solve() {
  motion::Affine camera;
  if (offs_[0].size() < kFewest) return camera;
  camera.x0 = shift_of(&offs_[0], &variances_[0]);
  camera.y0 = shift_of(&offs_[1], &variances_[1]);
  return camera;
}

}  // namespace dvnn::track
