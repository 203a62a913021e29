// SPDX-License-Identifier: Apache-2.0
// Medians of repeated measurements.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace dvnn::tools {

/// Wall-clock time of one call, milliseconds.
inline double time_ms(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace dvnn::tools
