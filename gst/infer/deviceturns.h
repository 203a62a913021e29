// SPDX-License-Identifier: Apache-2.0
// Decides whose turn on a device it is, where several want it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "infer/fairline.h"

namespace dvnn::gst {

/// Turns on devices, by the time that runs take there (fairline.h). A run keeps its turn from its
/// first step to its last, so that its tensors stay in the processor's cache, however many streams
/// wait; a device with one member only sees all of its runs. One for the process, as a device is;
/// any thread.
class DeviceTurns {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// One run; it ends with the object.
  class Turn {
   public:
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();
    /// Tells how long the run itself took, without its wait for others; else, or if that is
    /// nothing, the turn's time counts.
    void took(std::chrono::nanoseconds time) { took_ = time; }

   private:
    friend class DeviceTurns;
    Turn() = default;
    DeviceTurns* turns_ = nullptr;  // null: nobody waits for its end
    std::string device_;
    const void* member_ = nullptr;
    Clock::Time start_;
    std::chrono::nanoseconds took_{0};
  };

  static DeviceTurns& of_process();
  /// So many runs have a turn at once: enough that the device and the processors always have work.
  explicit DeviceTurns(int at_once, const Clock& clock = Clock::steady())
      : at_once_(at_once), clock_(clock) {}

  /// Waits for a turn on the device of that name. A member is what a share is for; its priority
  /// is its weight, and what it gave last counts. After `patience` it goes ahead without one, so
  /// that a device that holds one run does not hold everybody's.
  Turn take(const std::string& device, const void* member, unsigned priority,
            std::chrono::milliseconds patience = kPatience);
  /// Forgets a member, which has no turn and waits for none.
  void leave(const void* member);

 private:
  struct Waiter {
    const void* member;
    std::condition_variable called;
  };
  struct Line {
    FairLine members;            // use is in nanoseconds
    std::list<Waiter*> waiters;  // in the order in which they came
    int taken = 0;
  };
  bool is_turn_of(const Line& line, const void* member) const {
    return line.taken < at_once_ && line.members.is_next(member);
  }
  void call_next(const Line& line) const;
  void end(const Turn& turn);

  const int at_once_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Line> lines_;  // by device
};

}  // namespace dvnn::gst
