// SPDX-License-Identifier: Apache-2.0
// Counts the numbers that arrive in order, again, or too early.
#pragma once

#include <check.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

class Arrivals {
 public:
  void add(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (number == next_) {
      ++next_;
    } else if (number < next_) {
      ++again_;
    } else {
      ++overtaken_;
    }
  }
  int64_t next() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return next_;
  }
  int64_t again() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return again_;
  }
  int64_t overtaken() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return overtaken_;
  }
  void wait_for(int64_t count, int seconds) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (next() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ck_assert_msg(next() == count && overtaken() == 0, "%ld of %ld came, %ld too early",
                  static_cast<long>(next()), static_cast<long>(count),
                  static_cast<long>(overtaken()));
  }

 private:
  mutable std::mutex mutex_;
  int64_t next_ = 0, again_ = 0, overtaken_ = 0;
};
