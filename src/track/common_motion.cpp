// SPDX-License-Identifier: Apache-2.0
#include "track/common_motion.h"

#include <algorithm>
#include <cmath>

namespace dvnn::track {
namespace {

constexpr size_t kFewest = 4;          // detections that tell what is common
constexpr double kLikely = 1.5;        // deviations beyond which one counts less
constexpr double kLoss = 1.5;          // of the mean's variance by counting those less
constexpr double kNewVariance = 0.02;  // share of a frame in what is known of the camera
// Share of a shift below which it is nobody's: then the camera stands.
constexpr double kLeastShare = 0.05;
constexpr double kMostWidened = 1;  // widths and heights of a box

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
double CommonMotion::shift_of(double news, std::vector<Off>* offs, double* variance) const {
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
  const double shift = sum / weights;
  // Things that go their own ways spread wider than filter and detector explain.
  double spread = 0;
  for (const Off& off : *offs) spread += off.weight * (off.off - shift) * (off.off - shift);
  const double others = static_cast<double>(offs->size() - 1);
  const double error = std::max(kLoss / weights, spread / (all * others));
  const double share = *variance / (*variance + error);
  *variance = std::max(0.0, *variance + news * (shift * shift - error - *variance));
  return share < kLeastShare ? 0 : share * shift;
}

void CommonMotion::widen(std::vector<Candidate>* expected) const {
  const double x = std::sqrt(variances_[0]), y = std::sqrt(variances_[1]);
  for (Candidate& candidate : *expected) {
    const image::Corners& box = candidate.box;
    candidate.slack_x = std::min(candidate.slack_x + x, kMostWidened * (box.x1 - box.x0));
    candidate.slack_y = std::min(candidate.slack_y + y, kMostWidened * (box.y1 - box.y0));
  }
}

motion::Affine CommonMotion::solve() {
  motion::Affine camera;
  if (offs_[0].size() < kFewest) return camera;
  const double news = std::max(kNewVariance, 1.0 / ++frames_);
  camera.x0 = shift_of(news, &offs_[0], &variances_[0]);
  camera.y0 = shift_of(news, &offs_[1], &variances_[1]);
  return camera;
}

}  // namespace dvnn::track
