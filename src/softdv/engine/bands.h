// SPDX-License-Identifier: Apache-2.0
// Some neighbouring rows (or pixels of a row): what a thread does at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::softdv {

/// Rows first..last-1.
struct Band {
  int first = 0, last = 0;

  /// How many rows it has, and how many come before it, where neither is negative.
  size_t count() const { return static_cast<size_t>(last - first); }
  size_t before() const { return static_cast<size_t>(first); }
};

/// Returns how many times `b` covers `a`.
template <typename T>
constexpr T quotient_up(T a, T b) {
  return (a + b - 1) / b;
}

/// The i-th of `count` bands that divide `rows` evenly.
inline Band band_of(int rows, int i, int count) {
  return {static_cast<int>(int64_t{rows} * i / count),
          static_cast<int>(int64_t{rows} * (i + 1) / count)};
}

}  // namespace dvnn::softdv
