// SPDX-License-Identifier: Apache-2.0
// Follows the state of every byte through a run. Bytes between two neighbouring ends of ranges
// have the same fate, and are one cell.
#include "network/handover.h"

#include <algorithm>

#include "base/nth.h"

namespace dvnn::network {
namespace {

// Where a cell's newest bytes are. A cell is always written as a whole.
enum class Newest : uint8_t {
  kBoth,    // memory, and what the CPU has cached is the same
  kCpu,     // a cache
  kDevice,  // memory; a cache may have older ones
};

class Cells {
 public:
  Cells(const StageUses& stages, ByteRange input, Span<const ByteRange> outputs) {
    add(input);
    for (const ByteRange& range : outputs) add(range);
    for (const auto& stage : stages) {
      for (const MemoryUse& use : stage) {
        for (const ByteRange& range : use.reads) add(range);
        for (const ByteRange& range : use.writes) add(range);
      }
    }
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    newest_.resize(ends_.size(), Newest::kBoth);
  }

  void set(ByteRange range, Newest newest) {
    for (size_t i = first(range); i < past(range); ++i) nth(newest_, i) = newest;
  }

  /// Makes memory and caches agree where `which` has the newest bytes, appends these bytes to
  /// `handed`, and returns how many they are.
  uint64_t agree(ByteRange range, Newest which, std::vector<ByteRange>* handed) {
    uint64_t bytes = 0;
    for (size_t i = first(range); i < past(range); ++i) {
      if (nth(newest_, i) != which) continue;
      nth(newest_, i) = Newest::kBoth;
      handed->push_back({nth(ends_, i), nth(ends_, i + 1) - nth(ends_, i)});
      bytes += handed->back().bytes;
    }
    return bytes;
  }

 private:
  void add(ByteRange range) {
    ends_.push_back(range.offset);
    ends_.push_back(range.end());
  }
  size_t first(ByteRange range) const { return place(range.offset); }
  size_t past(ByteRange range) const { return place(range.end()); }
  size_t place(uint64_t at) const {
    return static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
  }

  std::vector<uint64_t> ends_;  // of ranges, in order; cell i is between the i-th and the next
  std::vector<Newest> newest_;  // of each cell
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
Handover before_stage(const std::vector<MemoryUse>& stage, Cells* cells) {
  Handover handover;
  for (const MemoryUse& use : stage) {
    const Newest other = use.by_device ? Newest::kCpu : Newest::kDevice;
    std::vector<ByteRange>* handed = use.by_device ? &handover.to_device : &handover.to_cpu;
    for (const ByteRange& range : use.reads) {
      handover.crossing += cells->agree(range, other, handed);
    }
    for (const ByteRange& range : use.writes) {
      // A line that is cleaned after the device has written would take the CPU's old bytes there.
      if (use.by_device) cells->agree(range, other, handed);
      cells->set(range, use.by_device ? Newest::kDevice : Newest::kCpu);
    }
  }
  join(&handover.to_device);
  join(&handover.to_cpu);
  return handover;
}

std::vector<Handover> follow_run(const StageUses& stages, ByteRange input, bool hands_over_input,
                                 Span<const ByteRange> outputs, Cells* cells) {
  std::vector<Handover> handovers;
  cells->set(input, hands_over_input ? Newest::kBoth : Newest::kCpu);
  for (const auto& stage : stages) handovers.push_back(before_stage(stage, cells));
  Handover after;
  for (const ByteRange& range : outputs) {
    after.crossing += cells->agree(range, Newest::kDevice, &after.to_cpu);
  }
  // The caller may write and hand over a part of it: nothing older may lie in a cache beside that.
  if (hands_over_input) cells->agree(input, Newest::kCpu, &after.to_device);
  join(&after.to_cpu);
  join(&after.to_device);
  handovers.push_back(std::move(after));
  return handovers;
}

}  // namespace

std::vector<Handover> plan_handovers(const StageUses& stages, ByteRange input,
                                     bool hands_over_input, Span<const ByteRange> outputs) {
  Cells cells(stages, input, outputs);
  // The first run leaves in caches what the second one finds there. A cell's last writer is the
  // same in each run, so that the second one's hand-overs are those of all later ones, and to hand
  // over what is in no cache, as in the first, does no harm.
  follow_run(stages, input, hands_over_input, outputs, &cells);
  return follow_run(stages, input, hands_over_input, outputs, &cells);
}

void count_handover(const Handover& handover, HandoverCount* count) {
  for (const ByteRange& range : handover.to_device) count->to_device += range.bytes;
  for (const ByteRange& range : handover.to_cpu) count->to_cpu += range.bytes;
  count->crossing += handover.crossing;
  count->calls += static_cast<int>(handover.to_device.size() + handover.to_cpu.size());
}

bool device_takes(const StageUses& stages, ByteRange input) {
  const auto touches = [&](const std::vector<ByteRange>& ranges) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const ByteRange& range) {
      return range.offset < input.end() && input.offset < range.end();
    });
  };
  for (const auto& stage : stages) {
    for (const MemoryUse& use : stage) {
      if (touches(use.reads) || touches(use.writes)) return use.by_device;
    }
  }
  return false;
}

}  // namespace dvnn::network
