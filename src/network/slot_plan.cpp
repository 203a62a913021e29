// SPDX-License-Identifier: Apache-2.0
#include "network/slot_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/nth.h"
#include "layers/attributes.h"
#include "layers/loops/spans.h"
#include "network/slot_values.h"

namespace dvnn::network {
namespace {

using layers::ElementwiseAttributes;

// Finds the commands that layers can follow, and places tensors anew.
class SlotPlanner {
 public:
  explicit SlotPlanner(const ModelNetwork& network)
      : model_(network.model()),
        plan_(plan_step_by_step(network)),
        values_(network, plan_.acts),
        dropped_(model_.tensors.size()) {}

  SlotPlan run(bool layers_follow) {
    if (!values_.known()) return plan_;
    for (size_t i = 0; layers_follow && i < plan_.acts.size(); ++i) try_to_follow(i);
    join_lists();
    values_.place(dropped_, &plan_);
    for (const Act& act : plan_.acts) {
      if (!act.follower || act.keeps_own) continue;
      // Where nothing is stored, the command still names memory.
      const int own = act.step->outputs[0], stored = act.follower->outputs[0];
      nth(plan_.offsets, own) = nth(plan_.offsets, stored);
      nth(plan_.lives, own) = nth(plan_.lives, stored);
    }
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
  void join_lists();

  const Model& model_;
  SlotPlan plan_;
  SlotValues values_;
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
    const Value* const value = values_.value_around(input, time);
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
  if (last->tensor != act.step->outputs[0] || values_.value_read(sums, time) != last) {
    return std::nullopt;
  }
  const bool otherwise = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int input) {
    return input != sums && values_.value_around(input, time) == last;
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
    Value* const value = values_.value_around(input, old_time);
    if (!value) continue;
    std::replace(value->read.begin(), value->read.end(), old_time, new_time);
  }
  values_.value_of(layer->outputs[0])->written = new_time;
  const Value& own = *values_.value_of(act.step->outputs[0]);
  act.follower = layer;
  act.sums = followed->sums;
  act.keeps_own =
      std::any_of(own.read.begin(), own.read.end(), [=](size_t time) { return time != new_time; });
  nth(dropped_, act.step->outputs[0]) = !act.keeps_own;
  plan_.acts[index].step = nullptr;
}

bool is_command(const Act& act) {
  return act.step && act.step->kind == StepKind::kDevice;
}

// Command lists count from 1. Returns where each act belongs: a command in the first list that it
// can be in, a CPU layer before the first list that needs it, or behind all.
std::vector<size_t> find_lists(const std::vector<Act>& acts,
                               const std::vector<std::vector<size_t>>& operands) {
  std::vector<size_t> lists(acts.size(), 0);  // of a layer: the last one that it needs
  for (size_t i = 0; i < acts.size(); ++i) {
    if (is_command(acts[i])) lists[i] = 1;
    for (size_t of : operands[i]) {
      const bool in_next = is_command(acts[i]) && !is_command(acts[of]);
      lists[i] = std::max(lists[i], lists[of] + in_next);
    }
  }
  std::vector<size_t> places(acts.size(), acts.size() + 1);
  for (size_t i = acts.size(); i-- > 0;) {
    if (is_command(acts[i])) places[i] = lists[i];
    for (size_t of : operands[i]) places[of] = std::min(places[of], places[i]);
  }
  return places;
}

// Leaves acts without a step out.
void SlotPlanner::join_lists() {
  std::vector<Act>& acts = plan_.acts;
  const std::vector<size_t> places = find_lists(acts, values_.operands(acts.size()));
  std::vector<size_t> order(acts.size()), times(acts.size() + 2);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(places[a], is_command(acts[a])) < std::pair(places[b], is_command(acts[b]));
  });
  std::vector<Act> ordered;
  for (size_t i : order) {
    if (!acts[i].step) continue;
    ordered.push_back(acts[i]);
    times[i + 1] = ordered.size();
  }
  times.back() = ordered.size() + 1;
  acts = std::move(ordered);
  values_.move_times(times);
}

}  // namespace

ByteRange SlotPlan::range(const Model& model, int tensor) const {
  return {nth(offsets, tensor), model.tensor(tensor).desc.bytes()};
}

MemoryUse memory_use(const Model& model, const SlotPlan& plan, const Act& act) {
  MemoryUse use;
  use.by_device = act.step->kind == StepKind::kDevice;
  const auto add = [&](int tensor, std::vector<ByteRange>* to) {
    if (model.tensor(tensor).storage != Storage::kIo || !plan.is(Life::kRun, tensor)) return;
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
  plan.lives.resize(model.tensors.size());
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
