// SPDX-License-Identifier: Apache-2.0
// Inputs of kernel tests: seeded numbers, extreme numbers, and every instruction set.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check_suite.h"
#include "image/targets.h"

namespace dvnn::test {

inline std::vector<float> seeded_floats(size_t count, unsigned seed, float low, float high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(low, high);
  std::vector<float> floats(count);
  for (float& f : floats) f = number(random);
  return floats;
}

// Vectors of 32-bit Arm take what is smaller than all normal numbers for 0, also on the way.
#ifdef __arm__
constexpr float kSmallest = 0x1p-100f, kFlushedBelow = std::numeric_limits<float>::min();
#else
constexpr float kSmallest = std::numeric_limits<float>::denorm_min(), kFlushedBelow = 0;
#endif

/// Returns numbers of -most..most in steps that are fine enough to tell any two apart and coarse
/// enough for sums of products to be exact: whether a set multiplies and adds in one rounding or in
/// two makes no difference then.
inline std::vector<float> seeded_steps(size_t count, unsigned seed, float most) {
  std::vector<float> values = seeded_floats(count, seed, -most, most);
  for (float& v : values) v = std::round(v * 256) / 256;
  return values;
}

inline std::vector<float> odd_floats() {
  using Limits = std::numeric_limits<float>;
  return {Limits::quiet_NaN(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::max(),
          Limits::lowest(),
          kSmallest,
          0.0f,
          -0.0f};
}

/// Checks that two arrays are the same to the last bit; all NaNs count as equal, and 0 as what is
/// smaller than kFlushedBelow.
inline void assert_same(const char* what, const std::vector<float>& found,
                        const std::vector<float>& wanted) {
  ck_assert_uint_eq(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const bool same = std::memcmp(&found[i], &wanted[i], sizeof(float)) == 0 ||
                      (std::isnan(found[i]) && std::isnan(wanted[i])) ||
                      (found[i] == 0 && std::fabs(wanted[i]) < kFlushedBelow);
    ck_assert_msg(same, "%s: float %zu of %zu is %a, not %a", what, i, found.size(),
                  static_cast<double>(found[i]), static_cast<double>(wanted[i]));
  }
}

}  // namespace dvnn::test
