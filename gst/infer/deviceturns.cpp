// SPDX-License-Identifier: Apache-2.0
#include "infer/deviceturns.h"

#include <algorithm>
#include <utility>

namespace dvnn::gst {

DeviceTurns::Turn::Turn(Turn&& other) noexcept
    : turns_(std::exchange(other.turns_, nullptr)),
      device_(std::move(other.device_)),
      member_(other.member_),
      start_(other.start_) {}

DeviceTurns::Turn::~Turn() {
  if (turns_) turns_->end(*this);
}

DeviceTurns& DeviceTurns::of_process() {
  // Never destroyed: a thread that a device has held may return late.
  static auto* const turns = new DeviceTurns();
  return *turns;
}

bool DeviceTurns::Line::one_priority() const {
  const unsigned first = members.begin()->second.priority;
  return std::all_of(members.begin(), members.end(),
                     [=](const auto& entry) { return entry.second.priority == first; });
}

bool DeviceTurns::Line::is_next(const void* member) const {
  const Member& mine = members.at(member);
  return std::none_of(members.begin(), members.end(), [&](const auto& entry) {
    return entry.second.waiting > 0 && entry.second.used < mine.used;
  });
}

DeviceTurns::Turn DeviceTurns::take(const std::string& device, const void* member,
                                    unsigned priority, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  Line& line = lines_[device];
  Member& mine = line.members[member];
  mine.priority = std::max(priority, 1u);
  Turn turn;
  if (line.one_priority()) return turn;
  // A stream that comes back after a pause has saved nothing up.
  if (mine.waiting == 0) mine.used = std::max(mine.used, line.least);
  ++mine.waiting;
  changed_.wait_for(lock, patience, [&] { return !line.taken && line.is_next(member); });
  --mine.waiting;
  if (line.taken) return turn;
  line.taken = true;
  line.least = mine.used;
  turn.turns_ = this;
  turn.device_ = device;
  turn.member_ = member;
  turn.start_ = Clock::now();
  return turn;
}

void DeviceTurns::end(const Turn& turn) {
  const std::chrono::duration<double, std::nano> took = Clock::now() - turn.start_;
  const std::lock_guard<std::mutex> lock(mutex_);
  Line& line = lines_[turn.device_];
  line.taken = false;
  const auto found = line.members.find(turn.member_);
  if (found != line.members.end()) found->second.used += took.count() / found->second.priority;
  changed_.notify_all();
}

void DeviceTurns::leave(const void* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    line->second.members.erase(member);
    // One with a turn still ends it by the device's name.
    line =
        line->second.members.empty() && !line->second.taken ? lines_.erase(line) : std::next(line);
  }
  changed_.notify_all();
}

}  // namespace dvnn::gst
