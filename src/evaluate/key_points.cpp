// SPDX-License-Identifier: Apache-2.0
#include "evaluate/key_points.h"

#include <algorithm>
#include <cmath>

namespace dvnn::evaluate {
namespace {

// COCO's constants, from its page: standard deviation of annotators' points, divided by the root of
// the object's area. Nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles.
constexpr double kCocoSigmas[] = {.026, .025, .025, .035, .035, .079, .079, .072, .072,
                                  .062, .062, .107, .107, .087, .087, .089, .089};
constexpr size_t kCocoPoints = sizeof kCocoSigmas / sizeof *kCocoSigmas;
constexpr double kOtherSigma = 0.1;

double sigma_of(size_t point, size_t points) {
  return points == kCocoPoints ? kCocoSigmas[point] : kOtherSigma;
}

// Returns how far a point is outside of twice the box, along one axis.
double beyond(double at, double begin, double size) {
  return std::max(0.0, begin - size - at) + std::max(0.0, at - (begin + size * 2));
}

}  // namespace

double key_point_similarity(const Found& found, const Truth& truth) {
  const size_t count = std::min(found.points.size(), truth.points.size());
  if (count == 0) return 0;
  size_t annotated = 0;
  for (size_t i = 0; i < count; ++i) annotated += truth.points[i].confidence > 0;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const objects::Point &to = truth.points[i], &at = found.points[i];
    if (annotated > 0 && !(to.confidence > 0)) continue;
    double dx = at.x - to.x, dy = at.y - to.y;
    if (annotated == 0) {
      dx = beyond(at.x, truth.box.x, truth.box.width);
      dy = beyond(at.y, truth.box.y, truth.box.height);
    }
    const double variance = std::pow(sigma_of(i, truth.points.size()) * 2, 2);
    // Avoids a division by zero for an object without area.
    constexpr double kEpsilon = 2.220446049250313e-16;
    sum += std::exp(-(dx * dx + dy * dy) / variance / (truth.area + kEpsilon) / 2);
  }
  return sum / static_cast<double>(annotated > 0 ? annotated : count);
}

}  // namespace dvnn::evaluate
