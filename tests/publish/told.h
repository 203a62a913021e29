// SPDX-License-Identifier: Apache-2.0
// Records what a publisher reports, from its own thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "publish/publisher.h"
#include "waiting.h"

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
