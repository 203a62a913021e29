// SPDX-License-Identifier: Apache-2.0
// Decides whose turn it is among members that want more of one thing than there is of it.
#pragma once

#include <cstddef>
#include <map>

namespace dvnn::gst {

/// Weighted fair queueing: the next turn is the member's whose use so far, for its priority, is
/// least. Times are whatever unit the uses are told in. Not for several threads.
class FairLine {
 public:
  /// A member is what a share is for; its priority, at least 1, is its weight, and what was
  /// given last counts.
  void join(const void* member, unsigned priority);
  /// Forgets a member, which does not wait.
  void leave(const void* member);
  size_t size() const { return members_.size(); }

  /// One more run of the member's waits from now on.
  void wait(const void* member);
  /// Returns whether none that waits is before the member.
  bool is_next(const void* member) const;
  /// A run of the member's that waited waits no longer; with `takes_turn` it begins.
  void stop_waiting(const void* member, bool takes_turn);
  /// Adds the time of a run. A member that has left meanwhile is not charged.
  void used(const void* member, double time);

 private:
  struct Member {
    unsigned priority = 1;
    double used = 0;  // divided by the priority
    int waiting = 0;
  };
  std::map<const void*, Member> members_;
  double least_ = 0;  // `used` of the member of the newest turn, when it began
};

}  // namespace dvnn::gst
