// SPDX-License-Identifier: Apache-2.0
// How far a measured number may be off, because other pictures would have given another one:
// B. Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace dvnn::evaluate {

struct Interval {
  double low = -1, high = -1;
};

/// The 95 % intervals, from the 2.5th to the 97.5th percentile, of numbers that `measure` takes of
/// samples: as many pictures as there are, drawn with replacement, told as how often each picture
/// counts. Numbers below 0 do not count. The same seed gives the same samples on any machine.
std::vector<Interval> bootstrap(
    size_t pictures, int rounds, uint64_t seed,
    const std::function<std::vector<double>(const std::vector<uint32_t>& weights)>& measure);

}  // namespace dvnn::evaluate
