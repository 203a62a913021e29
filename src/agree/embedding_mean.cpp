// SPDX-License-Identifier: Apache-2.0
#include "agree/embedding_mean.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "agree/odds.h"

namespace dvnn::agree {
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
