// SPDX-License-Identifier: Apache-2.0
// Tells how long a thread has been in a call of the device. Work like loading a network may
// take long and still be alive; a device that has not returned from one call for seconds is
// lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace dvnn::device {

/// When a thread's call of the device began. Written by that thread, read by any other.
class CallWatch {
 public:
  /// Returns when the current call began (now_us()), or 0 between calls.
  int64_t since_us() const { return since_us_; }
  /// Copies the watch of a thread that this one waits for, whose calls then count as its own. Null:
  /// waits for none.
  void follow(const CallWatch* other) { since_us_ = other ? other->since_us_.load() : 0; }

  /// Returns the watch of this thread, or null.
  static CallWatch*& current() {
    thread_local CallWatch* watch = nullptr;
    return watch;
  }

 private:
  friend class InCall;
  std::atomic<int64_t> since_us_{0};
};

/// Makes `watch` this thread's watch while the object lives.
class Watched {
 public:
  explicit Watched(CallWatch* watch) { CallWatch::current() = watch; }
  ~Watched() { CallWatch::current() = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// Marks this thread as being in a call of the device while the object lives.
class InCall {
 public:
  InCall() : watch_(CallWatch::current()) {
    if (watch_) watch_->since_us_ = now_us();
  }
  ~InCall() {
    if (watch_) watch_->since_us_ = 0;
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  CallWatch* const watch_;
};

}  // namespace dvnn::device
