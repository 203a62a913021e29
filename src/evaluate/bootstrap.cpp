// SPDX-License-Identifier: Apache-2.0
#include "evaluate/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace dvnn::evaluate {
namespace {

// Returns the value below which `share` of the sorted values lie, interpolated.
double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::vector<Interval> bootstrap(
    size_t pictures, int rounds, uint64_t seed,
    const std::function<std::vector<double>(const std::vector<uint32_t>& weights)>& measure) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<double>> values;
  std::vector<uint32_t> weights;
  for (int round = 0; round < rounds; ++round) {
    weights.assign(pictures, 0);
    // A remainder instead of the library's distributions, which differ from system to system; its
    // bias is below 2^-40.
    for (size_t i = 0; i < pictures; ++i) ++weights[random() % pictures];
    const std::vector<double> measured = measure(weights);
    values.resize(std::max(values.size(), measured.size()));
    for (size_t i = 0; i < measured.size(); ++i) {
      if (measured[i] >= 0) values[i].push_back(measured[i]);
    }
  }
  constexpr double kLow = 0.025, kHigh = 0.975;
  std::vector<Interval> intervals;
  for (std::vector<double>& of : values) {
    std::sort(of.begin(), of.end());
    intervals.push_back(of.empty() ? Interval{}
                                   : Interval{percentile(of, kLow), percentile(of, kHigh)});
  }
  return intervals;
}

}  // namespace dvnn::evaluate
