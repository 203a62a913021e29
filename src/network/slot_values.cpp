// SPDX-License-Identifier: Apache-2.0
#include "network/slot_values.h"

#include <algorithm>
#include <numeric>

#include "base/nth.h"

namespace dvnn::network {

SlotValues::SlotValues(const ModelNetwork& network, const std::vector<Act>& acts)
    : model_(network.model()), parents_(model_.tensors.size()), values_of_(model_.tensors.size()) {
  std::iota(parents_.begin(), parents_.end(), 0);
  write(model_.input.tensor, 0);
  for (const ExtraInput& input : model_.extra_inputs) write(input.tensor, 0);
  for (size_t i = 0; i < acts.size(); ++i) {
    for (int t : acts[i].step->inputs) read(t, i + 1);
    for (int t : acts[i].step->outputs) write(t, i + 1);
  }
  for (const OutputInfo& output : model_.outputs) read(output.tensor, acts.size() + 1);
  for (const ExtraInput& input : model_.extra_inputs) {
    if (input.is_state()) read(input.next, acts.size() + 1);
  }
  known_ = known_ && are_apart();
}

Value* SlotValues::value_read(int tensor, size_t time) {
  if (Value* const value = value_of(tensor)) return value;
  const auto it = std::find_if(values_.begin(), values_.end(), [&](const Value& value) {
    return std::count(value.read.begin(), value.read.end(), time) > 0 &&
           have_same_pixels(value.tensor, tensor);
  });
  return it == values_.end() ? nullptr : &*it;
}

Value* SlotValues::value_around(int tensor, size_t time) {
  if (Value* const value = value_read(tensor, time)) return value;
  const ByteRange range = range_of(tensor);
  const auto it = std::find_if(values_.begin(), values_.end(), [&](const Value& value) {
    const ByteRange wrote = range_of(value.tensor);
    return std::count(value.read.begin(), value.read.end(), time) > 0 &&
           wrote.offset <= range.offset && range.end() <= wrote.end();
  });
  return it == values_.end() ? nullptr : &*it;
}

bool SlotValues::have_same_pixels(int a, int b) const {
  const TensorDesc &x = model_.tensor(a).desc, &y = model_.tensor(b).desc;
  const ByteRange first = range_of(a), second = range_of(b);
  return in_io(b) && first.offset == second.offset && first.bytes == second.bytes &&
         x.type == y.type && x.layout == y.layout && x.shape.rank == 4 && y.shape.rank == 4 &&
         x.shape.n() == y.shape.n() && x.shape.channels() == y.shape.channels();
}

void SlotValues::write(int tensor, size_t time) {
  auto& place = nth(values_of_, tensor);
  if (!in_io(tensor) || place) {
    known_ = false;
    return;
  }
  place = values_.size();
  values_.push_back({tensor, time});
}

void SlotValues::read(int tensor, size_t time) {
  if (!in_io(tensor)) return;
  std::vector<ByteRange> left = {range_of(tensor)}, rest;
  for (size_t v = values_.size(); v-- > 0 && !left.empty(); left.swap(rest)) {
    const ByteRange wrote = range_of(values_[v].tensor);
    rest.clear();
    bool holds = false;
    for (const ByteRange& range : left) {
      if (!wrote.meets(range)) {
        rest.push_back(range);
        continue;
      }
      holds = true;
      if (range.offset < wrote.offset) rest.push_back({range.offset, wrote.offset - range.offset});
      if (wrote.end() < range.end()) rest.push_back({wrote.end(), range.end() - wrote.end()});
    }
    if (!holds) continue;
    values_[v].read.push_back(time);
    parents_[root(values_[v].tensor)] = root(tensor);
  }
  known_ = known_ && left.empty();
}

// Values that keep their distances and share bytes would have to keep their order, too.
bool SlotValues::are_apart() {
  struct Place {
    size_t root;
    ByteRange range;
  };
  std::vector<Place> places;
  for (const Value& value : values_) places.push_back({root(value.tensor), range_of(value.tensor)});
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.root != b.root ? a.root < b.root : a.range.offset < b.range.offset;
  });
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].root == places[i - 1].root && places[i].range.meets(places[i - 1].range)) {
      return false;
    }
  }
  return true;
}

std::vector<std::vector<size_t>> SlotValues::operands(size_t acts) const {
  std::vector<std::vector<size_t>> operands(acts);
  for (const Value& value : values_) {
    if (value.written == 0) continue;
    for (size_t time : value.read) {
      if (time <= acts) nth(operands, time - 1).push_back(value.written - 1);
    }
  }
  return operands;
}

void SlotValues::move_times(const std::vector<size_t>& new_times) {
  for (Value& value : values_) {
    value.written = nth(new_times, value.written);
    for (size_t& time : value.read) time = nth(new_times, time);
  }
}

namespace {

// Tensors that keep their distances, as some step reads them together, with their place in memory
// and in time.
struct Block {
  ByteRange range;
  size_t birth, death;
  bool by_commands = false;  // some command writes or reads them
  Life life = Life::kRun;
  uint64_t offset = 0;
  bool lives_with(const Block& o) const { return birth <= o.death && o.birth <= death; }
};

// CPU and device must not share a cache line.
uint64_t align_line(uint64_t offset) {
  constexpr uint64_t kLine = 64;
  return (offset + kLine - 1) / kLine * kLine;
}

// The largest blocks first, each at the lowest place that is free while it lives.
uint64_t place_blocks(std::vector<Block*> blocks) {
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block* a, const Block* b) { return a->range.bytes > b->range.bytes; });
  std::vector<const Block*> placed;  // in the order of their offsets
  uint64_t total = 0;
  for (Block* block : blocks) {
    uint64_t at = 0;
    for (const Block* other : placed) {
      if (!other->lives_with(*block)) continue;
      if (other->offset >= at + block->range.bytes) break;
      at = std::max(at, align_line(other->offset + other->range.bytes));
    }
    block->offset = at;
    total = std::max(total, at + block->range.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; }),
        block);
  }
  return total;
}

// Counts acts of a kind.
class ActCount {
 public:
  ActCount(const std::vector<Act>& acts, StepKind kind) : before_(acts.size() + 2, 0) {
    for (size_t i = 0; i < acts.size(); ++i) {
      before_[i + 2] = before_[i + 1] + (acts[i].step && acts[i].step->kind == kind);
    }
  }
  // Returns whether there is one between two times, which count from 1.
  bool any(size_t from, size_t to) const { return before_[from] != before_[to + 1]; }

 private:
  std::vector<size_t> before_;  // each time
};

}  // namespace

void SlotValues::place(const std::vector<bool>& dropped, SlotPlan* plan) {
  const ActCount commands(plan->acts, StepKind::kDevice), layers(plan->acts, StepKind::kCpu);
  // The caller writes and reads before and after all acts.
  const auto is_command = [&](size_t time) {
    return time > 0 && time <= plan->acts.size() && commands.any(time, time);
  };
  std::vector<std::optional<Block>> blocks(parents_.size());  // by root
  for (const Value& value : values_) {
    if (nth(dropped, value.tensor)) continue;
    const ByteRange range = range_of(value.tensor);
    auto& block = blocks[root(value.tensor)];
    if (!block) block = Block{range, value.written, value.written};
    block->by_commands = block->by_commands || is_command(value.written) ||
                         std::any_of(value.read.begin(), value.read.end(), is_command);
    const uint64_t begin = std::min(block->range.offset, range.offset);
    block->range = {begin, std::max(block->range.end(), range.end()) - begin};
    block->birth = std::min(block->birth, value.written);
    block->death = std::max(block->death, value.written);
    for (size_t time : value.read) block->death = std::max(block->death, time);
  }
  std::vector<Block*> in_list, in_layers, by_commands, by_layers;
  for (auto& block : blocks) {
    if (!block) continue;
    const bool within_acts = block->birth > 0 && block->death <= plan->acts.size();
    if (within_acts && !layers.any(block->birth, block->death)) {
      block->life = Life::kCommandList;
      in_list.push_back(&*block);
    } else if (within_acts && !commands.any(block->birth, block->death)) {
      block->life = Life::kLayers;
      in_layers.push_back(&*block);
    } else {
      (block->by_commands ? by_commands : by_layers).push_back(&*block);
    }
  }
  plan->transient_bytes = place_blocks(in_list);
  plan->layers_bytes = place_blocks(in_layers);
  // Values that only CPU layers use lie apart: memory that a command writes next would have to be
  // cleaned from the caches first.
  const uint64_t apart = align_line(place_blocks(by_commands));
  plan->io_bytes = apart + place_blocks(by_layers);
  for (Block* block : by_layers) block->offset += apart;
  for (size_t t = 0; t < plan->offsets.size(); ++t) {
    const auto& block = blocks[root(static_cast<int>(t))];
    if (!in_io(static_cast<int>(t)) || !block) continue;
    plan->offsets[t] += block->offset - block->range.offset;
    plan->lives[t] = block->life;
  }
}

}  // namespace dvnn::network
