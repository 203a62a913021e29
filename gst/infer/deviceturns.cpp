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

DeviceTurns::Turn DeviceTurns::take(const std::string& device, const void* member,
                                    unsigned priority, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  Line& line = lines_[device];
  line.members.join(member, priority);
  Turn turn;
  if (line.members.one_priority()) return turn;
  line.members.wait(member);
  changed_.wait_for(lock, patience, [&] { return !line.taken && line.members.is_next(member); });
  line.members.stop_waiting(member, !line.taken);
  if (line.taken) return turn;
  line.taken = true;
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
  line.members.used(turn.member_, took.count());
  changed_.notify_all();
}

void DeviceTurns::leave(const void* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    line->second.members.leave(member);
    // One with a turn still ends it by the device's name.
    line =
        line->second.members.empty() && !line->second.taken ? lines_.erase(line) : std::next(line);
  }
  changed_.notify_all();
}

}  // namespace dvnn::gst
