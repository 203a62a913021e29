// SPDX-License-Identifier: Apache-2.0
// What a publisher reports, and what arrives of its messages.
#pragma once

#include <check.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "publish/publisher.h"
#include "waiting.h"

// Records what a publisher reports, from its own thread.
class Told {
 public:
  dvnn::publish::Publisher::Tell tell() {
    return [this](dvnn::publish::Notice notice, const std::string& why) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (notice == dvnn::publish::Notice::kConnected) connected_ = why;
      if (notice != dvnn::publish::Notice::kLost) return;
      lost_ = why;
      ++losses_;
      changed_.notify_all();
    };
  }
  /// Returns the text about the last connection that came up.
  std::string connected() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return connected_;
  }
  /// Why the last connection was lost; waits for the first loss, however slow the machine is.
  std::string lost() { return lost_that_says(""); }
  /// Waits for one of these words.
  std::string lost_that_says(const char* words) {
    std::unique_lock<std::mutex> lock(mutex_);
    dvnn::test::wait_watched(&changed_, &lock, "a loss",
                             [&] { return losses_ > 0 && lost_.find(words) != std::string::npos; });
    return lost_;
  }
  int losses() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return losses_;
  }
  void until_losses(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    dvnn::test::wait_watched(&changed_, &lock, "losses", [&] { return losses_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lost_, connected_;
  int losses_ = 0;
};

// Counts the numbers that arrive in order, again, or too early.
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
    changed_.notify_all();
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
  /// Waits until that many have come, while they do come.
  void until(int64_t count) const {
    std::unique_lock<std::mutex> lock(mutex_);
    while (next_ < count) {
      const int64_t before = next_ + again_ + overtaken_;
      dvnn::test::wait_watched(&changed_, &lock, "arrivals",
                               [&] { return next_ + again_ + overtaken_ != before; });
    }
  }
  /// Waits until one has come.
  void until_any() const {
    std::unique_lock<std::mutex> lock(mutex_);
    dvnn::test::wait_watched(&changed_, &lock, "an arrival",
                             [&] { return next_ + again_ + overtaken_ > 0; });
  }
  /// Those and no others have come, in their order.
  void expect(int64_t count) const {
    ck_assert_msg(next() == count && overtaken() == 0, "%ld of %ld came, %ld too early",
                  static_cast<long>(next()), static_cast<long>(count),
                  static_cast<long>(overtaken()));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int64_t next_ = 0, again_ = 0, overtaken_ = 0;
};
