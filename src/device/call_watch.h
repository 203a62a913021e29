// SPDX-License-Identifier: Apache-2.0
// Tells how long a thread has been in a call of the device. Work like loading a network may
// take long and still be alive; a device that has not returned from one call for seconds is
// lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace dvnn::device {

/// Written by the thread that it watches, read by any other.
class CallWatch {
 public:
  /// When the call began that the thread is in (now_us()); 0 between calls.
  int64_t since_us() const { return since_us_; }
  /// This thread waits for the one that `other` watches (null: for none), whose calls are its own.
  void follow(const CallWatch* other) { since_us_ = other ? other->since_us_.load() : 0; }

  /// The watch of this thread, or null.
  static CallWatch*& current() {
    thread_local CallWatch* watch = nullptr;
    return watch;
  }

 private:
  friend class InCall;
  std::atomic<int64_t> since_us_{0};
};

/// `watch` is that of this thread while it lives.
class Watched {
 public:
  explicit Watched(CallWatch* watch) { CallWatch::current() = watch; }
  ~Watched() { CallWatch::current() = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// The thread is in a call of the device while it lives.
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
