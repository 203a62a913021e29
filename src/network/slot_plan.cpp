// SPDX-License-Identifier: Apache-2.0
#include "network/slot_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/nth.h"
#include "layers/attributes.h"
#include "layers/loops/spans.h"

namespace dvnn::network {
namespace {

using layers::ElementwiseAttributes;

// A tensor as a step, or the caller, leaves it in memory. Times count the acts from 1; the input is
// there at 0, and outputs are read after all.
struct Value {
  int tensor;
  size_t written;
  std::vector<size_t> read = {};
};

// Tensors that keep their distances, as some step reads them together, with their place in memory
// and in time.
struct Block {
  ByteRange range;
  size_t birth, death;
  uint64_t offset = 0;
  enum class Place : uint8_t { kCommands, kLayers, kTransient } place = Place::kCommands;
  bool lives_with(const Block& o) const { return birth <= o.death && o.birth <= death; }
};

// Follows the bytes through the steps: which step reads the bytes that which one wrote.
class Memory {
 public:
  explicit Memory(const ModelNetwork& network, const std::vector<Act>& acts)
      : model_(network.model()),
        parents_(model_.tensors.size()),
        values_of_(model_.tensors.size()) {
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

  // Returns whether a step wrote every byte that is read, each tensor being written by one step.
  bool known() const { return known_; }
  // Returns the value that a step wrote to exactly this tensor; null if there is none.
  Value* value_of(int tensor) {
    const auto& place = nth(values_of_, tensor);
    return place ? &values_[*place] : nullptr;
  }
  // Returns the value that the step at `time` reads as this tensor: what was written to it, or to
  // its bytes as a picture of other rows, whose pixels have the same order. Null if there is none.
  Value* value_read(int tensor, size_t time) {
    if (Value* const value = value_of(tensor)) return value;
    const auto it = std::find_if(values_.begin(), values_.end(), [&](const Value& value) {
      return std::count(value.read.begin(), value.read.end(), time) > 0 &&
             have_same_pixels(value.tensor, tensor);
    });
    return it == values_.end() ? nullptr : &*it;
  }
  // Returns the value that holds all bytes of a tensor which the step at `time` reads; null if
  // several do.
  Value* value_around(int tensor, size_t time) {
    if (Value* const value = value_read(tensor, time)) return value;
    const ByteRange range = range_of(tensor);
    const auto it = std::find_if(values_.begin(), values_.end(), [&](const Value& value) {
      const ByteRange wrote = range_of(value.tensor);
      return std::count(value.read.begin(), value.read.end(), time) > 0 &&
             wrote.offset <= range.offset && range.end() <= wrote.end();
    });
    return it == values_.end() ? nullptr : &*it;
  }
  // Places all tensors anew, without the values that are `dropped` and have an empty `read`.
  void place(const std::vector<bool>& dropped, SlotPlan* plan);

 private:
  ByteRange range_of(int tensor) const {
    const TensorInfo& info = model_.tensor(tensor);
    return {info.offset, info.desc.bytes()};
  }
  bool have_same_pixels(int a, int b) const {
    const TensorDesc &x = model_.tensor(a).desc, &y = model_.tensor(b).desc;
    const ByteRange first = range_of(a), second = range_of(b);
    return in_io(b) && first.offset == second.offset && first.bytes == second.bytes &&
           x.type == y.type && x.layout == y.layout && x.shape.rank == 4 && y.shape.rank == 4 &&
           x.shape.n() == y.shape.n() && x.shape.channels() == y.shape.channels();
  }
  bool in_io(int tensor) const { return model_.tensor(tensor).storage == Storage::kIo; }
  size_t root(int tensor) {
    auto at = static_cast<size_t>(tensor);
    while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
    return at;
  }
  void write(int tensor, size_t time);
  void read(int tensor, size_t time);
  bool are_apart();

  const Model& model_;
  std::vector<size_t> parents_;
  std::vector<std::optional<size_t>> values_of_;
  std::vector<Value> values_;  // in the order of time
  bool known_ = true;
};

void Memory::write(int tensor, size_t time) {
  auto& place = nth(values_of_, tensor);
  if (!in_io(tensor) || place) {
    known_ = false;
    return;
  }
  place = values_.size();
  values_.push_back({tensor, time});
}

void Memory::read(int tensor, size_t time) {
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
bool Memory::are_apart() {
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

// Returns how many acts before each time, which counts from 1, run on the CPU.
std::vector<size_t> count_layers(const std::vector<Act>& acts) {
  std::vector<size_t> counts(acts.size() + 2, 0);
  for (size_t i = 0; i < acts.size(); ++i) {
    const bool on_cpu = acts[i].step && acts[i].step->kind == StepKind::kCpu;
    counts[i + 2] = counts[i + 1] + on_cpu;
  }
  return counts;
}

void Memory::place(const std::vector<bool>& dropped, SlotPlan* plan) {
  using Place = Block::Place;
  const auto by_command = [&](size_t time) {
    return time > 0 && time <= plan->acts.size() && plan->acts[time - 1].step &&
           plan->acts[time - 1].step->kind == StepKind::kDevice;
  };
  std::vector<std::optional<Block>> blocks(parents_.size());  // by root
  for (const Value& value : values_) {
    if (nth(dropped, value.tensor)) continue;
    const ByteRange range = range_of(value.tensor);
    auto& block = blocks[root(value.tensor)];
    if (!block) block = Block{range, value.written, value.written, 0, Place::kLayers};
    if (by_command(value.written) ||
        std::any_of(value.read.begin(), value.read.end(), by_command)) {
      block->place = Place::kCommands;
    }
    const uint64_t begin = std::min(block->range.offset, range.offset);
    block->range = {begin, std::max(block->range.end(), range.end()) - begin};
    block->birth = std::min(block->birth, value.written);
    block->death = std::max(block->death, value.written);
    for (size_t time : value.read) block->death = std::max(block->death, time);
  }
  const std::vector<size_t> layers_before = count_layers(plan->acts);
  std::vector<Block*> at[3];
  for (auto& block : blocks) {
    if (!block) continue;
    // What the caller writes or reads lives before or after all acts.
    const bool in_one_list = block->birth > 0 && block->death <= plan->acts.size() &&
                             layers_before[block->birth] == layers_before[block->death + 1];
    if (in_one_list) block->place = Place::kTransient;
    at[static_cast<size_t>(block->place)].push_back(&*block);
  }
  // Values that only CPU layers use lie apart: memory that a command writes next would have to be
  // cleaned from the caches first.
  const uint64_t layers = align_line(place_blocks(at[0]));
  plan->io_bytes = layers + place_blocks(at[1]);
  plan->transient_bytes = place_blocks(at[2]);
  for (size_t t = 0; t < plan->offsets.size(); ++t) {
    const auto& block = blocks[root(static_cast<int>(t))];
    if (!in_io(static_cast<int>(t)) || !block) continue;
    const uint64_t begin = block->place == Place::kLayers ? layers : 0;
    plan->offsets[t] = begin + block->offset + plan->offsets[t] - block->range.offset;
    plan->transient[t] = block->place == Place::kTransient;
  }
}

// Finds the commands that layers can follow, and places tensors anew.
class SlotPlanner {
 public:
  explicit SlotPlanner(const ModelNetwork& network)
      : model_(network.model()),
        plan_(plan_step_by_step(network)),
        memory_(network, plan_.acts),
        dropped_(model_.tensors.size()) {}

  SlotPlan run(bool layers_follow) {
    if (!memory_.known()) return plan_;
    for (size_t i = 0; layers_follow && i < plan_.acts.size(); ++i) try_to_follow(i);
    memory_.place(dropped_, &plan_);
    auto& acts = plan_.acts;
    for (const Act& act : acts) {
      if (!act.follower || act.keeps_own) continue;
      // Where nothing is stored, the command still names memory.
      const int own = act.step->outputs[0], stored = act.follower->outputs[0];
      nth(plan_.offsets, own) = nth(plan_.offsets, stored);
      nth(plan_.transient, own) = nth(plan_.transient, stored);
    }
    acts.erase(std::remove_if(acts.begin(), acts.end(), [](const Act& a) { return !a.step; }),
               acts.end());
    return plan_;
  }

 private:
  const TensorDesc& desc(int tensor) const { return model_.tensor(tensor).desc; }
  struct Followed {
    size_t act;
    int sums;  // the layer's input that the act's command writes
  };
  bool is_operand(int tensor, const TensorDesc& result) const;
  std::optional<Followed> command_of(const Step& layer, size_t time);
  void try_to_follow(size_t index);

  const Model& model_;
  SlotPlan plan_;
  Memory memory_;
  std::vector<bool> dropped_;  // tensors without readers
};

// Returns whether the device has the layer's functions: those that are computed in vectors.
bool can_follow(const layers::LayerAttributes& layer) {
  const auto* const chain = layer.as<ElementwiseAttributes>();
  return chain && std::all_of(chain->steps.begin(), chain->steps.end(), [](const auto& step) {
           return step.combines ? kernels::is_vectored(step.operation)
                                : kernels::is_vectored(step.curve);
         });
}

// A tensor like the result, or constants for channels or for all.
bool SlotPlanner::is_operand(int tensor, const TensorDesc& result) const {
  const TensorInfo& info = model_.tensor(tensor);
  if (info.storage == Storage::kIo) return info.desc == result;
  return info.desc.shape.elements() == 1 || layers::is_per_channel(info.desc.shape, result.shape);
}

// Returns the act with the command that writes the operand which exists last, and that operand;
// nothing if another kind of step writes it, or if the layer cannot follow a command at all.
std::optional<SlotPlanner::Followed> SlotPlanner::command_of(const Step& layer, size_t time) {
  const TensorDesc& result = desc(layer.outputs[0]);
  if (result.type != ElementType::kFloat16 || result.shape.rank != 4) return std::nullopt;
  const Value* last = nullptr;
  int sums = -1;
  for (int input : layer.inputs) {
    if (!is_operand(input, result)) return std::nullopt;
    if (model_.tensor(input).storage != Storage::kIo) continue;
    const Value* const value = memory_.value_around(input, time);
    if (!value) return std::nullopt;
    if (last && last->written >= value->written) continue;
    last = value;
    sums = input;
  }
  if (!last || last->written == 0) return std::nullopt;
  const Act& act = plan_.acts[last->written - 1];
  if (!act.step || act.step->kind != StepKind::kDevice || act.follower) return std::nullopt;
  const auto& command = act.step->command;
  if (command.topo != uint32_t{1} << (command.runs.size() - 1)) return std::nullopt;
  // Sums are of the whole output.
  if (last->tensor != act.step->outputs[0] || memory_.value_read(sums, time) != last) {
    return std::nullopt;
  }
  const bool otherwise = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int input) {
    return input != sums && memory_.value_around(input, time) == last;
  });
  if (otherwise) return std::nullopt;
  return Followed{last->written - 1, sums};
}

void SlotPlanner::try_to_follow(size_t index) {
  const Step* const layer = plan_.acts[index].step;
  if (layer->kind != StepKind::kCpu || !can_follow(*layer->layer)) return;
  const size_t old_time = index + 1;
  const auto followed = command_of(*layer, old_time);
  if (!followed) return;
  Act& act = plan_.acts[followed->act];
  const size_t new_time = followed->act + 1;
  for (int input : layer->inputs) {
    Value* const value = memory_.value_around(input, old_time);
    if (!value) continue;
    std::replace(value->read.begin(), value->read.end(), old_time, new_time);
  }
  memory_.value_of(layer->outputs[0])->written = new_time;
  const Value& own = *memory_.value_of(act.step->outputs[0]);
  act.follower = layer;
  act.sums = followed->sums;
  act.keeps_own =
      std::any_of(own.read.begin(), own.read.end(), [=](size_t time) { return time != new_time; });
  nth(dropped_, act.step->outputs[0]) = !act.keeps_own;
  plan_.acts[index].step = nullptr;
}

}  // namespace

ByteRange SlotPlan::range(const Model& model, int tensor) const {
  return {nth(offsets, tensor), model.tensor(tensor).desc.bytes()};
}

MemoryUse memory_use(const Model& model, const SlotPlan& plan, const Act& act) {
  MemoryUse use;
  use.by_device = act.step->kind == StepKind::kDevice;
  const auto add = [&](int tensor, std::vector<ByteRange>* to) {
    if (model.tensor(tensor).storage != Storage::kIo || nth(plan.transient, tensor)) return;
    to->push_back(plan.range(model, tensor));
  };
  const auto add_reads = [&](const Step& step) {
    for (int i : step.inputs) {
      const bool made_here = &step == act.follower && i == act.sums;
      if (!made_here) add(i, &use.reads);
    }
  };
  const auto add_writes = [&](const Step& step) {
    for (int i : step.outputs) add(i, &use.writes);
  };
  add_reads(*act.step);
  if (act.follower) add_reads(*act.follower);
  if (act.keeps_own) add_writes(*act.step);
  if (act.follower) add_writes(*act.follower);
  return use;
}

StageUses memory_uses(const Model& model, const SlotPlan& plan) {
  StageUses uses;
  for (const Act& act : plan.acts) {
    MemoryUse use = memory_use(model, plan, act);
    if (uses.empty() || !use.by_device || !uses.back().front().by_device) uses.emplace_back();
    uses.back().push_back(std::move(use));
  }
  return uses;
}

std::vector<ByteRange> results(const Model& model, const SlotPlan& plan) {
  std::vector<ByteRange> results;
  for (const OutputInfo& output : model.outputs) {
    if (model.tensor(output.tensor).storage != Storage::kIo) continue;
    results.push_back(plan.range(model, output.tensor));
  }
  for (const ExtraInput& input : model.extra_inputs) {
    if (input.is_state()) results.push_back(plan.range(model, input.next));
  }
  return results;
}

std::vector<ByteRange> extras(const Model& model, const SlotPlan& plan) {
  std::vector<ByteRange> extras;
  for (const ExtraInput& input : model.extra_inputs) {
    extras.push_back(plan.range(model, input.tensor));
  }
  return extras;
}

SlotPlan plan_step_by_step(const ModelNetwork& network) {
  const Model& model = network.model();
  SlotPlan plan;
  for (const Step& step : model.steps) {
    if (!network.is_constant(step)) plan.acts.push_back({&step});
  }
  for (const TensorInfo& tensor : model.tensors) plan.offsets.push_back(tensor.offset);
  plan.io_bytes = model.io_bytes;
  plan.transient.resize(model.tensors.size());
  return plan;
}

SlotPlan plan_slot(const ModelNetwork& network, bool layers_follow) {
  // What follows grows with the square of the steps, of which a file may name tens of thousands.
  constexpr size_t kMostUses = 8192;
  size_t uses = 0;
  for (const Step& step : network.model().steps) uses += step.inputs.size() + step.outputs.size();
  return uses > kMostUses ? plan_step_by_step(network) : SlotPlanner(network).run(layers_follow);
}

}  // namespace dvnn::network
