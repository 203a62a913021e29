// SPDX-License-Identifier: Apache-2.0
// Time for measuring.
#pragma once

#include <chrono>
#include <cstdint>

namespace dvnn {

/// Microseconds of a clock that never goes backwards.
inline int64_t now_us() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds of the same clock.
inline int64_t now_ns() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace dvnn
