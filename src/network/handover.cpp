// SPDX-License-Identifier: Apache-2.0
// Follows the state of every byte through a run, at a cost that follows the number of ranges: a
// file may name tens of thousands that overlap.
#include "network/handover.h"

#include <algorithm>
#include <map>

#include "base/nth.h"

namespace dvnn::network {
namespace {

// Bytes of the I/O buffer, as ranges that do not overlap.
class Bytes {
 public:
  void add(ByteRange range) {
    if (range.bytes != 0) ends_[range.offset] = range.end();
  }

  /// Takes out what lies in `range`, and returns it.
  std::vector<ByteRange> take(ByteRange range) {
    std::vector<ByteRange> taken;
    auto it = ends_.upper_bound(range.offset);
    if (it != ends_.begin() && std::prev(it)->second > range.offset) --it;
    while (it != ends_.end() && it->first < range.end()) {
      const uint64_t begin = it->first, end = it->second;
      it = ends_.erase(it);
      if (begin < range.offset) ends_[begin] = range.offset;
      if (range.end() < end) ends_[range.end()] = end;
      const uint64_t first = std::max(begin, range.offset);
      taken.push_back({first, std::min(end, range.end()) - first});
      if (range.end() < end) break;
    }
    return taken;
  }

 private:
  std::map<uint64_t, uint64_t> ends_;  // by beginning
};

enum class Side : uint8_t { kCpu, kDevice };

// Which bytes only one side has as they are: those that the CPU has in a cache, and those that the
// device has written since the CPU looked. All others are the same for both.
class Newest {
 public:
  void write(ByteRange range, Side side) {
    write_for_both(range);
    nth(bytes_, side).add(range);
  }
  void write_for_both(ByteRange range) {
    for (Bytes& bytes : bytes_) bytes.take(range);
  }

  /// Makes both sides agree where `side` has the newest bytes, appends these to `handed`, and
  /// returns how many they are.
  uint64_t agree(ByteRange range, Side side, std::vector<ByteRange>* handed) {
    uint64_t bytes = 0;
    for (const ByteRange& part : nth(bytes_, side).take(range)) {
      handed->push_back(part);
      bytes += part.bytes;
    }
    return bytes;
  }

 private:
  std::vector<Bytes> bytes_{2};  // by side
};

void join(std::vector<ByteRange>* ranges) {
  std::sort(ranges->begin(), ranges->end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  size_t kept = 0;
  for (const ByteRange& range : *ranges) {
    if (range.bytes == 0) continue;
    if (kept != 0 && nth(*ranges, kept - 1).end() == range.offset) {
      nth(*ranges, kept - 1).bytes += range.bytes;
    } else {
      nth(*ranges, kept++) = range;
    }
  }
  ranges->resize(kept);
}

// What the stage's commands find in caches is handed over before the first of them.
Handover before_stage(const std::vector<MemoryUse>& stage, Newest* newest) {
  Handover handover;
  for (const MemoryUse& use : stage) {
    const Side other = use.by_device ? Side::kCpu : Side::kDevice;
    std::vector<ByteRange>* handed = use.by_device ? &handover.to_device : &handover.to_cpu;
    for (const ByteRange& range : use.reads) {
      handover.crossing += newest->agree(range, other, handed);
    }
    for (const ByteRange& range : use.writes) {
      // A line that is cleaned after the device has written would take the CPU's old bytes there.
      if (use.by_device) newest->agree(range, other, handed);
      newest->write(range, use.by_device ? Side::kDevice : Side::kCpu);
    }
  }
  join(&handover.to_device);
  join(&handover.to_cpu);
  return handover;
}

std::vector<Handover> follow_run(const StageUses& stages, ByteRange input, bool hands_over_input,
                                 Span<const ByteRange> outputs, Span<const ByteRange> extras,
                                 Newest* newest) {
  std::vector<Handover> handovers;
  if (hands_over_input) {
    newest->write_for_both(input);
  } else {
    newest->write(input, Side::kCpu);
  }
  for (const ByteRange& range : extras) newest->write(range, Side::kCpu);
  for (const auto& stage : stages) handovers.push_back(before_stage(stage, newest));
  Handover after;
  for (const ByteRange& range : outputs) {
    after.crossing += newest->agree(range, Side::kDevice, &after.to_cpu);
  }
  // The caller may write and hand over a part of it: nothing older may lie in a cache beside that.
  if (hands_over_input) newest->agree(input, Side::kCpu, &after.to_device);
  join(&after.to_cpu);
  join(&after.to_device);
  handovers.push_back(std::move(after));
  return handovers;
}

// Whether the device is the first to read or write any byte of the input.
bool device_takes(const StageUses& stages, ByteRange input) {
  const auto touches = [&](const std::vector<ByteRange>& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const ByteRange& range) { return range.meets(input); });
  };
  for (const auto& stage : stages) {
    for (const MemoryUse& use : stage) {
      if (touches(use.reads) || touches(use.writes)) return use.by_device;
    }
  }
  return false;
}

}  // namespace

HandoverPlan plan_handovers(const StageUses& stages, ByteRange input, Span<const ByteRange> outputs,
                            Span<const ByteRange> extras) {
  HandoverPlan plan;
  plan.begins_with_input = device_takes(stages, input);
  Newest newest;
  // The first run leaves in caches what the second one finds there. A byte's last writer is the
  // same in each run, so that the second one's hand-overs are those of all later ones, and to hand
  // over what is in no cache, as in the first, does no harm.
  follow_run(stages, input, plan.begins_with_input, outputs, extras, &newest);
  plan.before = follow_run(stages, input, plan.begins_with_input, outputs, extras, &newest);
  return plan;
}

HandoverCount count_handovers(const HandoverPlan& plan, ByteRange input) {
  HandoverCount count;
  if (plan.begins_with_input) {
    count.to_device = count.crossing = input.bytes;
    count.calls = 1;
  }
  for (const Handover& handover : plan.before) {
    for (const ByteRange& range : handover.to_device) count.to_device += range.bytes;
    for (const ByteRange& range : handover.to_cpu) count.to_cpu += range.bytes;
    count.crossing += handover.crossing;
    count.calls += static_cast<int>(handover.to_device.size() + handover.to_cpu.size());
  }
  return count;
}

}  // namespace dvnn::network
