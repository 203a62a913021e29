// SPDX-License-Identifier: Apache-2.0
// Decides which of several streams is next to run on a device that they share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace dvnn::gst {

/// Decides which member is next to use a resource that is too small for all, by weighted fair
/// queueing: the next turn goes to the member with the least use so far, divided by
/// its priority. Uses may be in any one unit of time. Not thread safe.
class FairLine {
 public:
  /// Adds a member, an owner of a share, or changes its weight: `priority`, at least 1.
  void join(const void* member, unsigned priority);
  /// Removes a member. If some of its runs wait, it is there until none does, and comes before
  /// nobody.
  void leave(const void* member);
  /// Returns whether a member that has left is there because its runs wait.
  bool has_left(const void* member) const { return members_.at(member).left; }
  /// Returns the number of members that have not left.
  size_t size() const;

  /// Notes that one more run of the member waits.
  void wait(const void* member);
  /// Returns whether no waiting member comes before this one.
  bool is_next(const void* member) const;
  /// Notes that one run of the member no longer waits; with `takes_turn` it begins.
  void stop_waiting(const void* member, bool takes_turn);
  /// Charges a member for the time of a run. A member that has left is ignored.
  void used(const void* member, double time);

 private:
  struct Member {
    unsigned priority = 1;
    double used = 0;  // time so far, divided by the priority
    int waiting = 0;
    bool left = false;
  };
  std::map<const void*, Member> members_;
  double least_ = 0;  // `used` of the member with the newest turn, at its beginning
};

/// Takes turns on devices, fairly by the time that runs take there. A run keeps its
/// turn from its first step to its last, so that its tensors stay in the processor's cache, however
/// many streams wait; the only member of a device never waits. The process has one object, as it
/// has one set of devices; any thread may call it.
class DeviceTurns {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// The turn of one run; it ends when the object is destroyed.
  class Turn {
   public:
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();
    /// Sets how long the run itself took, without its waits for other runs. If it is not called, or
    /// `time` is 0, the turn's whole duration is charged.
    void took(std::chrono::nanoseconds time) { took_ = time; }

   private:
    friend class DeviceTurns;
    Turn() = default;
    DeviceTurns* turns_ = nullptr;  // null: the run goes ahead without a turn
    std::string device_;
    const void* member_ = nullptr;
    Clock::Time start_;
    std::chrono::nanoseconds took_{0};
  };

  static DeviceTurns& of_process();
  /// `at_once`: number of runs that have a turn at once; enough to keep device and processors busy.
  explicit DeviceTurns(int at_once, const Clock& clock = Clock::steady())
      : at_once_(at_once), clock_(clock) {}

  /// Waits for a turn on the device of that name. `member` is what owns a share of the device's
  /// time; its weight is the `priority` of its last call. After `patience` the run goes ahead
  /// without a turn, so that a device that blocks one run does not block those of all members.
  Turn take(const std::string& device, const void* member, unsigned priority,
            std::chrono::milliseconds patience = kPatience);
  /// Removes a member. Those of its runs that wait go ahead without a turn: the element stops, and
  /// a run that came too late for that must not wait for others' devices.
  void leave(const void* member);

 private:
  struct Waiter {
    const void* member;
    std::condition_variable called;
  };
  struct Line {
    FairLine members;            // use is in nanoseconds
    std::list<Waiter*> waiters;  // in order of arrival
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
