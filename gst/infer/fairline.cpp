// SPDX-License-Identifier: Apache-2.0
#include "infer/fairline.h"

#include <algorithm>

namespace dvnn::gst {

void FairLine::join(const void* member, unsigned priority) {
  members_[member].priority = std::max(priority, 1u);
}

void FairLine::leave(const void* member) {
  members_.erase(member);
}

void FairLine::wait(const void* member) {
  Member& mine = members_.at(member);
  // A member that comes back after a pause has saved nothing up.
  if (mine.waiting == 0) mine.used = std::max(mine.used, least_);
  ++mine.waiting;
}

bool FairLine::is_next(const void* member) const {
  const Member& mine = members_.at(member);
  return std::none_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.waiting > 0 && entry.second.used < mine.used;
  });
}

void FairLine::stop_waiting(const void* member, bool takes_turn) {
  Member& mine = members_.at(member);
  --mine.waiting;
  if (takes_turn) least_ = mine.used;
}

void FairLine::used(const void* member, double time) {
  const auto found = members_.find(member);
  if (found != members_.end()) found->second.used += time / found->second.priority;
}

}  // namespace dvnn::gst
