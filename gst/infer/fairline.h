// SPDX-License-Identifier: Apache-2.0
// Decides which member is next to use a resource that is too small for all.
#pragma once

#include <cstddef>
#include <map>

namespace dvnn::gst {

/// Weighted fair queueing: the next turn goes to the member with the least use so far, divided by
/// its priority. Uses may be in any one unit of time. Not thread safe.
class FairLine {
 public:
  /// Adds a member, an owner of a share, or changes its weight: `priority`, at least 1.
  void join(const void* member, unsigned priority);
  /// Removes a member, which must not be waiting.
  void leave(const void* member);
  size_t size() const { return members_.size(); }

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
  };
  std::map<const void*, Member> members_;
  double least_ = 0;  // `used` of the member with the newest turn, at its beginning
};

}  // namespace dvnn::gst
