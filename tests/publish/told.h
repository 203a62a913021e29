// SPDX-License-Identifier: Apache-2.0
// Records what a publisher reports, from its own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "publish/publisher.h"

class Told {
 public:
  dvnn::publish::Publisher::Tell tell() {
    return [this](dvnn::publish::Notice notice, const std::string& why) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (notice == dvnn::publish::Notice::kConnected) connected_ = why;
      if (notice != dvnn::publish::Notice::kLost) return;
      lost_ = why;
      changed_.notify_all();
    };
  }
  /// Returns the text about the last connection that came up.
  std::string connected() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return connected_;
  }
  /// Returns why the last connection was lost; waits for the first loss, however slow the machine
  /// is.
  std::string lost() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !lost_.empty(); });
    return lost_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lost_, connected_;
};
