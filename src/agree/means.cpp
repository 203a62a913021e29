// SPDX-License-Identifier: Apache-2.0
#include "agree/means.h"

#include <algorithm>
#include <cmath>

#include "agree/votes.h"

namespace dvnn::agree {
namespace {

constexpr size_t kMostValues = 32, kLeastLooks = 4;
constexpr double kNormal = 1.4826;  // standard deviations in a median distance
constexpr double kBend = 1.5;       // of Huber's loss, in deviations
constexpr double kTolerance = 0.1;
// The median distance of n numbers is about (n - 0.8) / n times that of many (Croux, Rousseeuw:
// "Time-Efficient Algorithms for Two Highly Robust Estimators of Scale", 1992).
constexpr double kBias = 0.8;
// Numbers that happen to be equal say little about how far they scatter.
constexpr double kLeastDeviation = 0.01;

double median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  // Halves first, because a sum might overflow.
  return *middle / 2 + *std::max_element(values->begin(), middle) / 2;
}

}  // namespace

RobustMean robust_mean(std::vector<double> values) {
  RobustMean mean;
  mean.value = median(&values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - mean.value));
  mean.deviation = kNormal * median(&distances);
  if (!(mean.deviation > 0)) return mean;
  // Iteratively reweighted means, which converge because Huber's loss is convex.
  constexpr int kMostSteps = 50;
  constexpr double kNear = 1e-9;
  for (int step = 0; step < kMostSteps; ++step) {
    double sum = 0, weights = 0;
    for (const double value : values) {
      const double distance = std::abs(value - mean.value);
      const double bend = kBend * mean.deviation;
      const double weight = distance <= bend ? 1 : bend / distance;
      sum += weight * value;
      weights += weight;
    }
    const double next = sum / weights;
    if (!std::isfinite(next)) break;
    const bool done = std::abs(next - mean.value) <= kNear * mean.deviation;
    mean.value = next;
    if (done) break;
  }
  return mean;
}

void NumberMean::add(double value) {
  if (!std::isfinite(value)) return;
  if (values_.size() == kMostValues) values_.erase(values_.begin());
  values_.push_back(value);
}

double NumberMean::probability() const {
  if (values_.size() < kLeastLooks) return 0;
  const RobustMean mean = robust_mean(values_);
  const auto looks = static_cast<double>(values_.size());
  const double size = std::abs(mean.value);
  const double error =
      std::max(mean.deviation * looks / (looks - kBias), kLeastDeviation * size) / std::sqrt(looks);
  if (!(error > 0)) return 1;
  // Abramowitz, Stegun: "Handbook of Mathematical Functions", 26.7.8.
  const double t = kTolerance * size / error, freedom = looks - 1;
  const double z = t * (1 - 1 / (4 * freedom)) / std::sqrt(1 + t * t / (2 * freedom));
  return std::erf(std::max(0.0, z) / std::sqrt(2.0));
}

namespace {

constexpr double kUnit = 1e-3;  // how far a unit vector's length may be from 1

template <typename Values>
double length_of(const Values& values) {
  double squares = 0;
  for (const auto value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

}  // namespace

// Lets the looks so far count as `most` at the most.
void EmbeddingMean::weigh(double most) {
  if (weight_ <= most) return;
  const double kept = most / weight_;
  for (double& value : sum_) value *= kept;
  for (double& value : directions_) value *= kept;
  weight_ = most;
}

void EmbeddingMean::add(const std::vector<float>& embedding) {
  const double length = length_of(embedding);
  if (!std::isfinite(length) || !(length > 0)) return;
  if (embedding.size() != sum_.size()) {
    *this = {};
    sum_.resize(embedding.size());
    directions_.resize(embedding.size());
  }
  weigh(kMostLooks - 1);
  for (size_t i = 0; i < embedding.size(); ++i) {
    const auto value = static_cast<double>(embedding[i]);
    sum_[i] += value;
    directions_[i] += value / length;
  }
  weight_ += 1;
  if (std::abs(length - 1) > kUnit) unit_ = false;
}

std::vector<float> EmbeddingMean::value() const {
  const double length = length_of(sum_);
  // Opposite embeddings have no direction in common.
  const double scale = unit_ && length > 0 ? 1 / length : 1 / std::max(weight_, 1.0);
  std::vector<float> mean;
  for (const double value : sum_) mean.push_back(static_cast<float>(value * scale));
  return mean;
}

double EmbeddingMean::cosine() const {
  if (weight_ < 2) return 0;
  const double length = std::min(1.0, length_of(directions_) / weight_);
  return std::max(0.0, 1 - (1 - length) / (weight_ - 1));
}

}  // namespace dvnn::agree
