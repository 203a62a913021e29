// SPDX-License-Identifier: Apache-2.0
#include "infer/deviceturns.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "log.h"

DVNN_LOG_CATEGORY(turns_category, "dvturns", "Turns of streams on a device")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT turns_category()

namespace dvnn::gst {

void FairLine::join(const void* member, unsigned priority) {
  Member& joined = members_[member];
  joined.priority = std::max(priority, 1u);
  joined.left = false;
}

void FairLine::leave(const void* member) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  found->second.left = true;
  if (found->second.waiting == 0) members_.erase(found);
}

size_t FairLine::size() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(),
                                           [](const auto& entry) { return !entry.second.left; }));
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
    const Member& other = entry.second;
    return other.waiting > 0 && !other.left && other.used < mine.used;
  });
}

void FairLine::stop_waiting(const void* member, bool takes_turn) {
  Member& mine = members_.at(member);
  --mine.waiting;
  if (takes_turn) least_ = mine.used;
  if (mine.left && mine.waiting == 0) members_.erase(member);
}

void FairLine::used(const void* member, double time) {
  const auto found = members_.find(member);
  if (found != members_.end()) found->second.used += time / found->second.priority;
}

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
  // One per processor, as a network may consist mostly of CPU layers, and one more, which is there
  // as soon as another ends.
  static auto* const turns =
      new DeviceTurns(static_cast<int>(std::thread::hardware_concurrency()) + 1);
  return *turns;
}

// Wakes only the waiter whose turn it is, because there may be many.
void DeviceTurns::call_next(const Line& line) const {
  const auto next =
      std::find_if(line.waiters.begin(), line.waiters.end(),
                   [&](const Waiter* waiter) { return is_turn_of(line, waiter->member); });
  if (next != line.waiters.end()) (*next)->called.notify_one();
}

DeviceTurns::Turn DeviceTurns::take(const std::string& device, const void* member,
                                    unsigned priority, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  Line& line = lines_[device];
  line.members.join(member, priority);
  Turn turn;
  if (line.members.size() == 1) return turn;
  Waiter waiter{member, {}};
  const auto place = line.waiters.insert(line.waiters.end(), &waiter);
  line.members.wait(member);
  const bool waits = !is_turn_of(line, member);
  if (waits) {
    GST_LOG_ID(device.c_str(), "%p waits for its turn: %d of %d are taken, %zu members", member,
               line.taken, at_once_, line.members.size());
  }
  bool left = false;
  const bool called = clock_.wait_until(&waiter.called, &lock, clock_.now() + patience, [&] {
    left = line.members.has_left(member);
    return left || is_turn_of(line, member);
  });
  const bool has_turn = called && !left;
  line.members.stop_waiting(member, has_turn);
  line.waiters.erase(place);
  if (left) {
    GST_INFO_ID(device.c_str(), "%p goes ahead without a turn, as its element stops", member);
  } else if (!has_turn) {
    GST_INFO_ID(device.c_str(), "%p goes ahead without a turn, after %lld ms", member,
                static_cast<long long>(patience.count()));
  } else if (waits) {
    GST_LOG_ID(device.c_str(), "it is the turn of %p", member);
  }
  if (has_turn) {
    ++line.taken;
    turn.turns_ = this;
    turn.device_ = device;
    turn.member_ = member;
    turn.start_ = clock_.now();
  }
  call_next(line);
  return turn;
}

void DeviceTurns::end(const Turn& turn) {
  const auto took = turn.took_.count() > 0 ? turn.took_ : clock_.now() - turn.start_;
  const std::lock_guard<std::mutex> lock(mutex_);
  Line& line = lines_[turn.device_];
  --line.taken;
  line.members.used(turn.member_, static_cast<double>(took.count()));
  call_next(line);
}

void DeviceTurns::leave(const void* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    line->second.members.leave(member);
    for (Waiter* waiter : line->second.waiters) {
      if (waiter->member == member) waiter->called.notify_one();
    }
    // A member with a turn still ends it by the device's name.
    const bool unused =
        line->second.members.size() == 0 && line->second.taken == 0 && line->second.waiters.empty();
    line = unused ? lines_.erase(line) : std::next(line);
  }
}

}  // namespace dvnn::gst
