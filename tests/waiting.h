// SPDX-License-Identifier: Apache-2.0
// What threads of a test wait for: that something has happened, however long it takes. What never
// happens ends the program, which says in which test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "check_suite.h"

namespace dvnn::test {

constexpr std::chrono::seconds kWatchdog{60};

/// Waits for `changed` until `is_so()`, under the watchdog; `what` is what does not happen then.
template <typename Condition>
void wait_watched(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                  const char* what, const Condition& is_so) {
  if (changed->wait_for(*lock, kWatchdog, is_so)) return;
  std::fprintf(stderr, "test '%s' waits in vain for %s\n", dvnn_running_test().load(), what);
  std::abort();
}

/// Counts what happens.
class Count {
 public:
  void add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  int value() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  /// Waits until it has happened that often.
  void until(int count) const {
    std::unique_lock<std::mutex> lock(mutex_);
    wait_watched(&changed_, &lock, "a count", [&] { return count_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int count_ = 0;
};

/// Lets threads through once it is open.
class Gate {
 public:
  void open() { opened_.add(); }
  bool is_open() const { return opened_.value() > 0; }
  void wait() const { opened_.until(1); }

 private:
  Count opened_;
};

}  // namespace dvnn::test
