// SPDX-License-Identifier: Apache-2.0
// Clocks for what waits until a time: one that the test moves, so that it need not wait itself, and
// the real one. Of both a test can wait for whatever threads have done before they wait on them.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "waiting.h"

namespace dvnn::test {

class WatchedClock : public Clock {
 public:
  using Clock::wait_until;

  /// Waits until `is_so()`, which is asked whenever a thread looks at the clock or begins to wait
  /// on it: what it has done before is there to be seen then. The clock's lock is not held.
  template <typename Condition>
  void until(const Condition& is_so) const {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      const uint64_t before = looks_;
      lock.unlock();
      if (is_so()) return;
      lock.lock();
      wait_watched(&changed_, &lock, "threads", [&] { return looks_ != before; });
    }
  }

 protected:
  ~WatchedClock() = default;
  // With the lock.
  void note() const {
    ++looks_;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;  // after those of waits
  mutable std::condition_variable changed_;

 private:
  mutable uint64_t looks_ = 0;
};

class RealClock final : public WatchedClock {
 public:
  Time now() const override {
    const std::lock_guard<std::mutex> own(mutex_);
    note();
    return steady().now();
  }
  bool wait_until(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                  Time end) const override {
    {
      const std::lock_guard<std::mutex> own(mutex_);
      note();
    }
    return steady().wait_until(changed, lock, end);
  }
};

/// Stands still until it is moved.
class ManualClock final : public WatchedClock {
 public:
  Time now() const override {
    const std::lock_guard<std::mutex> own(mutex_);
    note();
    return now_;
  }
  bool wait_until(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                  Time end) const override {
    Wait wait{changed, lock->mutex(), end, false};
    {
      const std::lock_guard<std::mutex> own(mutex_);
      note();
      if (end <= now_) return false;
      waits_.push_back(&wait);
    }
    changed->wait(*lock);
    const std::lock_guard<std::mutex> own(mutex_);
    waits_.erase(std::find(waits_.begin(), waits_.end(), &wait));
    return now_ < end;
  }

  /// Waits until that many threads wait on the clock, for a time that is still to come. A thread
  /// that was called, and has not run since, counts.
  void until_waiting(size_t threads) const {
    std::unique_lock<std::mutex> own(mutex_);
    wait_watched(&changed_, &own, "threads that wait", [&] { return count_waiting() >= threads; });
  }
  size_t waiting() const {
    const std::lock_guard<std::mutex> own(mutex_);
    return count_waiting();
  }
  void advance(std::chrono::nanoseconds by) {
    std::unique_lock<std::mutex> own(mutex_);
    now_ += by;
    note();
    // A thread waits once its mutex can be had. It may hold it, and be about to ask for ours.
    while (Wait* due = next_due()) {
      if (due->mutex->try_lock()) {
        due->ended = true;
        due->changed->notify_all();
        due->mutex->unlock();
        continue;
      }
      own.unlock();
      std::this_thread::yield();
      own.lock();
    }
  }

 private:
  struct Wait {
    std::condition_variable* changed;
    std::mutex* mutex;
    Time end;
    bool ended;  // by the time
  };
  Wait* next_due() const {
    const auto due = std::find_if(waits_.begin(), waits_.end(), [this](const Wait* wait) {
      return !wait->ended && wait->end <= now_;
    });
    return due == waits_.end() ? nullptr : *due;
  }
  size_t count_waiting() const {
    return static_cast<size_t>(
        std::count_if(waits_.begin(), waits_.end(), [](const Wait* wait) { return !wait->ended; }));
  }

  Time now_{std::chrono::hours(1)};  // so that the first moment of all is long ago
  mutable std::vector<Wait*> waits_;
};

}  // namespace dvnn::test
