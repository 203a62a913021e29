// SPDX-License-Identifier: Apache-2.0
#include "infer/deviceturns.h"

#include <algorithm>
#include <utility>

namespace dvnn::gst {

DeviceTurns::Turn::Turn(Turn&& other) noexcept
    : turns_(std::exchange(other.turns_, nullptr)),
      device_(std::move(other.device_)),
      member_(other.member_),
      start_(other.start_),
      took_(other.took_) {}

DeviceTurns::Turn::~Turn() {
  if (turns_) turns_->end(*this);
}

DeviceTurns& DeviceTurns::of_process() {
  // Never destroyed: a thread that a device has held may return late.
  static auto* const turns = new DeviceTurns();
  return *turns;
}

// Wakes whose turn it is, and nobody else: streams may be many.
void DeviceTurns::Line::call_next() {
  const auto next = std::find_if(waiters.begin(), waiters.end(), [this](const Waiter* waiter) {
    return is_turn_of(waiter->member);
  });
  if (next != waiters.end()) (*next)->called.notify_one();
}

DeviceTurns::Turn DeviceTurns::take(const std::string& device, const void* member,
                                    unsigned priority, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  Line& line = lines_[device];
  line.members.join(member, priority);
  Turn turn;
  if (line.members.one_priority()) return turn;
  Waiter waiter{member, {}};
  const auto place = line.waiters.insert(line.waiters.end(), &waiter);
  line.members.wait(member);
  const bool has_turn =
      waiter.called.wait_for(lock, patience, [&] { return line.is_turn_of(member); });
  line.members.stop_waiting(member, has_turn);
  line.waiters.erase(place);
  if (has_turn) {
    ++line.taken;
    turn.turns_ = this;
    turn.device_ = device;
    turn.member_ = member;
    turn.start_ = Clock::now();
  }
  line.call_next();
  return turn;
}

void DeviceTurns::end(const Turn& turn) {
  const auto took = turn.took_.count() > 0 ? turn.took_ : Clock::now() - turn.start_;
  const std::lock_guard<std::mutex> lock(mutex_);
  Line& line = lines_[turn.device_];
  --line.taken;
  line.members.used(turn.member_, static_cast<double>(took.count()));
  line.call_next();
}

void DeviceTurns::leave(const void* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    line->second.members.leave(member);
    // One with a turn still ends it by the device's name.
    const bool unused = line->second.members.empty() && line->second.taken == 0;
    line = unused ? lines_.erase(line) : std::next(line);
  }
}

}  // namespace dvnn::gst
