// SPDX-License-Identifier: Apache-2.0
// Estimates how much a measured number depends on the choice of pictures: B. Efron, "Bootstrap
// Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace dvnn::evaluate {

struct Interval {
  double low = -1, high = -1;
};

/// Returns 95 % intervals, from the 2.5th to the 97.5th percentile, of the numbers that `measure`
/// computes from samples. A sample draws as many pictures as there are, with replacement, and is
/// given as how often each picture counts. Numbers below 0 are left out. A seed gives the same
/// samples on any machine.
std::vector<Interval> bootstrap(
    size_t pictures, int rounds, uint64_t seed,
    const std::function<std::vector<double>(const std::vector<uint32_t>& weights)>& measure);

}  // namespace dvnn::evaluate
