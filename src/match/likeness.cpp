// SPDX-License-Identifier: Apache-2.0
#include "match/likeness.h"

#include <cmath>

namespace dvnn::match {

bool make_unit(std::vector<float>* vector) {
  double sum = 0;
  for (const float value : *vector) sum += static_cast<double>(value) * static_cast<double>(value);
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  const double scale = 1 / std::sqrt(sum);
  if (!std::isfinite(scale)) return false;
  for (float& value : *vector) value = static_cast<float>(static_cast<double>(value) * scale);
  return true;
}

float cosine(const float* a, const float* b, size_t length) {
  // Sums side by side, which the compiler makes vectors of: it may not reorder one sum.
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float rest = 0;
  for (; i < length; ++i) rest += a[i] * b[i];
  for (const float sum : sums) rest += sum;
  return rest;
}

}  // namespace dvnn::match
