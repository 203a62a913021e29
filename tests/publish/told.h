// SPDX-License-Identifier: Apache-2.0
// What a publisher tells, from its own thread.
#pragma once

#include <mutex>
#include <string>

#include "publish/publisher.h"

class Told {
 public:
  dvnn::publish::Publisher::Tell tell() {
    return [this](dvnn::publish::Notice notice, const std::string& why) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (notice == dvnn::publish::Notice::kLost) lost_ = why;
    };
  }
  /// Why the last connection was lost.
  std::string lost() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lost_;
  }

 private:
  std::mutex mutex_;
  std::string lost_;
};
