// SPDX-License-Identifier: Apache-2.0
// Sums and products of untrusted numbers. They saturate instead of wrapping, so that a sum of large
// costs never looks small.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dvnn {

/// Larger than any sensible limit; the sum of two of them does not wrap.
constexpr uint64_t kSaturated = UINT64_MAX / 4;

inline uint64_t saturating_sum(uint64_t a, uint64_t b) {
  return std::min(kSaturated, std::min(a, kSaturated) + std::min(b, kSaturated));
}

inline uint64_t saturating_product(uint64_t a, uint64_t b) {
  return b != 0 && a > kSaturated / b ? kSaturated : a * b;
}

/// Returns the product of several numbers; negative ones count as 0.
template <typename... Numbers>
uint64_t saturating_product_of(Numbers... numbers) {
  uint64_t result = 1;
  for (const int64_t n : {static_cast<int64_t>(numbers)...}) {
    result = saturating_product(result, static_cast<uint64_t>(std::max<int64_t>(n, 0)));
  }
  return result;
}

}  // namespace dvnn
