// SPDX-License-Identifier: Apache-2.0
// Numbers from a seed, equal with every standard library, whose distributions may differ.
#pragma once

#include <cmath>
#include <random>

namespace dvnn::test {

constexpr double kPi = 3.14159265358979323846;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double uniform(double low, double high) { return low + (high - low) * engine_() / 4294967296.0; }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  double normal() {
    const double r = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
    return r * std::cos(2 * kPi * uniform(0, 1));
  }

 private:
  std::mt19937 engine_;
};

}  // namespace dvnn::test
