// SPDX-License-Identifier: Apache-2.0
// Time: for measuring, and for waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace dvnn {

/// What waits until a time is handed one of these: the process's clock, or a test's, which stands
/// still until the test moves it (tests/manual_clock.h). Any thread may call it.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The process's clock, which never goes backwards.
  static const Clock& steady();

  virtual Time now() const = 0;
  /// Waits for `changed`, whose mutex `lock` holds, until `end` at the latest. Like any wait for a
  /// condition variable it may return without a reason. Returns whether `end` is still to come.
  virtual bool wait_until(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                          Time end) const = 0;

  /// Waits until `is_so()`, until `end` at the latest. Returns whether it is so.
  template <typename Condition>
  bool wait_until(std::condition_variable* changed, std::unique_lock<std::mutex>* lock, Time end,
                  const Condition& is_so) const {
    while (!is_so()) {
      if (!wait_until(changed, lock, end)) return is_so();
    }
    return true;
  }

  /// Microseconds of the same time.
  int64_t now_us() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch()).count();
  }

 protected:
  ~Clock() = default;
};

/// Microseconds of the process's clock.
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
