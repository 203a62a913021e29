// SPDX-License-Identifier: Apache-2.0
// A slot groups its acts (slot_plan.h) into stages when it is created: a stage is one command list
// (consecutive device steps, with what follows them) or one CPU layer. run() walks the stages; it
// decides and allocates nothing, but for the command lists of the first run with pixels, and memory
// for layers where more runs than ever before compute them at once.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/nth.h"
#include "base/result.h"
#include "layers/bound_layer.h"
#include "layers/workspace.h"
#include "network/handover.h"
#include "network/model_network.h"
#include "network/slot_plan.h"

namespace dvnn::network {
namespace {

struct Stage {
  std::vector<const Act*> acts;
  device::CommandList commands;    // a device stage
  device::CommandList for_pixels;  // the same where it reads pixels; made when there are some
  layers::BoundLayer layer;        // a CPU stage
  const Step& first() const { return *acts.front()->step; }  // for error messages
};

// CPU layers that run without a command between, and what the network lends them.
class LayersTurn {
 public:
  LayersTurn(ModelNetwork* network, const SlotPlan& plan)
      : memory_(network->borrow_layers_memory(plan.layers_bytes)), loan_(&memory_->workspace) {}
  uint8_t* tensors() { return memory_->tensors.data(); }

 private:
  std::unique_ptr<LayersMemory, ModelNetwork::Return> memory_;
  layers::Workspace::Loan loan_;
};

// Nanoseconds of a run so far.
struct StageTimes {
  int64_t device_ns = 0, queued_ns = 0, cpu_ns = 0;
};

class StepSlot final : public Slot {
 public:
  StepSlot(std::shared_ptr<ModelNetwork> network, SlotPlan plan, const device::Memory* transient)
      : Slot(network),
        network_(std::move(network)),
        plan_(std::move(plan)),
        transient_(transient) {}
  Status build(const Cancellation* cancellation);
  Span<uint8_t> input() const override;
  void expect_tensor() override { input_kind_ = InputKind::kTensor; }
  void expect_pixels() override { input_kind_ = InputKind::kPixels; }
  Status run(RunTimes* times) override;
  Result<std::string> first_not_finite() override;
  Status time_apart(Span<int64_t> step_ns) override;
  std::optional<size_t> command_of(size_t step) const override;
  ConstTensorView output(size_t i) const override;
  TensorView extra_input(size_t i) const override {
    const int index = model().extra_inputs[i].tensor;
    return {tensor(index).desc, data(index)};
  }
  ConstTensorView next_state(size_t i) const override {
    const int index = model().extra_inputs[i].next;
    return {tensor(index).desc, data(index)};
  }
  HandoverCount handed_over() const override;

 private:
  const Model& model() const { return network_->model(); }
  Status run_stages(RunTimes* times);
  Status run_layer(Stage* stage, LayersTurn* turn, Span<int64_t> step_ns, StageTimes* spent);
  Status run_commands(const Stage& stage, Span<int64_t> step_ns, StageTimes* spent);
  Status run_list(const Stage& stage, const device::CommandList& list, Span<int64_t> step_ns);
  Status hand_over(const Handover& handover, StageTimes* spent) const;
  size_t number_of(const Step& step) const {
    return static_cast<size_t>(&step - model().steps.data());
  }
  // Both return what the run itself took, in nanoseconds.
  Result<int64_t> run_layer_alone(Stage* stage);
  Result<int64_t> run_alone(const Step& step);
  Result<std::unique_ptr<StepSlot>> by_steps() const;
  Result<const Step*> trace();
  Status time_steps(Span<int64_t> step_ns);
  Status add_device_step(const Act& act);
  Status add_command(const Act& act, InputKind kind, device::CommandList* list);
  bool reads_pixels(const Stage& stage) const {
    return std::any_of(stage.acts.begin(), stage.acts.end(),
                       [this](const Act* act) { return network_->reads_input(*act->step); });
  }
  Status make_lists_for_pixels();
  Status make_for_pixels(Stage* stage);
  Status add_cpu_step(const Act& act);
  Status bind(const Step& step, layers::BoundLayer* layer) const;
  void place_layer(Stage* stage, uint8_t* tensors) const;
  const TensorInfo& tensor(int index) const { return model().tensor(index); }
  TensorMemory memory() const { return {&io_, transient_}; }
  uint8_t* data(int index) const {
    if (tensor(index).storage == Storage::kConstant) {
      return network_->constants() + nth(plan_.offsets, index);
    }
    if (plan_.is(Life::kLayers, index)) return nullptr;  // place_layer() knows
    const device::BufferRef place = plan_.place(memory(), index);
    return place.memory->data() + place.offset;
  }
  ByteRange input_range() const { return plan_.range(model(), model().input.tensor); }

  std::shared_ptr<ModelNetwork> network_;
  const SlotPlan plan_;
  const device::Memory* transient_;  // the network's; null if the plan needs none
  device::Memory io_;
  std::vector<Stage> stages_;
  HandoverPlan handovers_;
  bool spoilt_ = false;  // by a run that ended early: caches may hold anything
  InputKind input_kind_ = InputKind::kTensor;
  bool knows_pixels_ = false;     // all lists for pixels are made
  std::vector<int64_t> list_ns_;  // room for the times of a list's commands
};

Status StepSlot::build(const Cancellation* cancellation) {
  const uint64_t size = plan_.io_bytes;
  DVNN_ASSIGN(io_, network_->writable_device().allocate(size));
  // Layers may read bytes that no step writes (alignment gaps): never a previous owner's data.
  std::memset(io_.data(), 0, size);
  DVNN_TRY(io_.to_device(0, size));
  for (const Act& act : plan_.acts) {
    DVNN_TRY(check_cancelled(cancellation));
    const bool on_device = act.step->kind == StepKind::kDevice;
    if (Status s = on_device ? add_device_step(act) : add_cpu_step(act); !s.ok()) {
      return s.error().within("layer '" + act.step->name + "'");
    }
  }
  for (Stage& stage : stages_) {
    if (stage.layer) continue;
    DVNN_TRY(check_cancelled(cancellation));
    if (Status s = stage.commands.commit(); !s.ok()) {
      return s.error().within("layers from '" + stage.first().name + "'");
    }
    list_ns_.resize(std::max(list_ns_.size(), stage.acts.size()));
  }
  handovers_ = plan_handovers(memory_uses(model(), plan_), input_range(), results(model(), plan_),
                              extras(model(), plan_));
  return {};
}

Status StepSlot::add_device_step(const Act& act) {
  if (stages_.empty() || stages_.back().layer) {
    Stage stage;
    DVNN_ASSIGN(stage.commands, network_->writable_device().create_command_list());
    stages_.push_back(std::move(stage));
  }
  stages_.back().acts.push_back(&act);
  return add_command(act, InputKind::kTensor, &stages_.back().commands);
}

Status StepSlot::add_command(const Act& act, InputKind kind, device::CommandList* list) {
  const Step& step = *act.step;
  auto buffer = [&](int index) { return plan_.place(memory(), index); };
  const device::BufferRef eltwise =
      step.command.eltwise_add ? buffer(step.inputs[1]) : device::BufferRef{};
  const bool pixels = kind == InputKind::kPixels && network_->reads_input(step);
  DVNN_TRY(list->add(
      step.command, buffer(step.inputs[0]), buffer(step.outputs[0]), eltwise, network_->weights(),
      pixels ? device::BufferRef{&network_->pixel_table(), 0} : device::BufferRef{}));
  if (!act.follower) return {};
  // The layer itself checks what is the layer's to check.
  layers::BoundLayer layer;
  Status status = bind(*act.follower, &layer);
  if (status.ok()) status = follow(network_.get(), plan_, act, memory(), list);
  return status.ok() ? status : status.error().within("layer '" + act.follower->name + "'");
}

// Only slots that are fed pixels need these command lists, so the first run with pixels makes them:
// a device that does not answer is noticed in the threads that run slots, and in no others.
Status StepSlot::make_lists_for_pixels() {
  if (knows_pixels_) return {};
  for (Stage& stage : stages_) {
    if (stage.layer || stage.for_pixels || !reads_pixels(stage)) continue;
    if (Status s = make_for_pixels(&stage); !s.ok()) {
      return s.error().within("layer '" + stage.first().name + "'");
    }
  }
  knows_pixels_ = true;
  return {};
}

Status StepSlot::make_for_pixels(Stage* stage) {
  // A list that is not complete must not be found by the next frame.
  DVNN_ASSIGN(auto list, network_->writable_device().create_command_list());
  for (const Act* act : stage->acts) DVNN_TRY(add_command(*act, InputKind::kPixels, &list));
  DVNN_TRY(list.commit());
  stage->for_pixels = std::move(list);
  return {};
}

Status StepSlot::bind(const Step& step, layers::BoundLayer* layer) const {
  for (int i : step.inputs) layer->add_input({tensor(i).desc, data(i)});
  for (int i : step.outputs) layer->add_output({tensor(i).desc, data(i)});
  return layer->create(*step.layer, network_->library());
}

Status StepSlot::add_cpu_step(const Act& act) {
  const Step& step = *act.step;
  Stage stage;
  stage.acts.push_back(&act);
  DVNN_TRY(bind(step, &stage.layer));
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (tensor(step.inputs[i]).storage == Storage::kConstant) stage.layer.input_will_stay(i);
  }
  stages_.push_back(std::move(stage));
  return {};
}

Span<uint8_t> StepSlot::input() const {
  const int index = model().input.tensor;
  return {data(index), tensor(index).desc.bytes()};
}

Status StepSlot::run(RunTimes* times) {
  if (spoilt_) DVNN_TRY(io_.to_device(0, io_.size()));
  spoilt_ = true;
  DVNN_TRY(guarded("running the network", [&] { return run_stages(times); }));
  spoilt_ = false;
  return {};
}

Status StepSlot::run_stages(RunTimes* times) {
  const bool pixels = input_kind_ == InputKind::kPixels;
  if (pixels) DVNN_TRY(make_lists_for_pixels());
  if (handovers_.begins_with_input) {
    const ByteRange in = input_range();
    DVNN_TRY(io_.to_device(in.offset, pixels ? in.bytes / sizeof(half_t) : in.bytes));
  }
  StageTimes spent;
  std::optional<LayersTurn> turn;
  const SharedThreads threads(network_->device().share());
  const Span<int64_t> step_ns = times ? times->step_ns : Span<int64_t>();
  for (size_t i = 0; i < stages_.size(); ++i) {
    Stage* const stage = &stages_[i];
    Status status = hand_over(handovers_.before[i], &spent);
    if (!stage->layer) {
      turn.reset();
    } else if (!turn) {
      turn.emplace(network_.get(), plan_);
    }
    if (status.ok()) {
      status = stage->layer ? run_layer(stage, &*turn, step_ns, &spent)
                            : run_commands(*stage, step_ns, &spent);
    }
    if (!status.ok()) return status.error().within("layer '" + stage->first().name + "'");
  }
  DVNN_TRY(hand_over(handovers_.before.back(), &spent));
  if (times) {
    times->device_us = spent.device_ns / 1000;
    times->cpu_us = spent.cpu_ns / 1000;
    times->queued_us = spent.queued_ns / 1000;
  }
  return {};
}

void StepSlot::place_layer(Stage* stage, uint8_t* tensors) const {
  const Step& step = stage->first();
  const auto is_lent = [this](int tensor) { return plan_.is(Life::kLayers, tensor); };
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int from = step.inputs[i];
    if (is_lent(from)) stage->layer.move_input(i, tensors + nth(plan_.offsets, from));
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const int to = step.outputs[i];
    if (is_lent(to)) stage->layer.move_output(i, tensors + nth(plan_.offsets, to));
  }
}

Status StepSlot::run_layer(Stage* stage, LayersTurn* turn, Span<int64_t> step_ns,
                           StageTimes* spent) {
  place_layer(stage, turn->tensors());
  const int64_t start = now_ns();
  DVNN_TRY(stage->layer.run());
  const int64_t took = now_ns() - start;
  spent->cpu_ns += took;
  if (!step_ns.empty()) step_ns[number_of(stage->first())] = took;
  return {};
}

Status StepSlot::run_commands(const Stage& stage, Span<int64_t> step_ns, StageTimes* spent) {
  const bool pixels = input_kind_ == InputKind::kPixels;
  const auto& list = pixels && stage.for_pixels ? stage.for_pixels : stage.commands;
  const int64_t start = now_ns();
  DVNN_TRY(run_list(stage, list, step_ns));
  const int64_t took = now_ns() - start, told = list.last_exec_time() * 1000;
  const int64_t on_device = told > 0 ? std::min(told, took) : took;
  spent->device_ns += on_device;
  spent->queued_ns += took - on_device;
  return {};
}

// Leaves each command's time at its step in `step_ns`, if that has room for all steps.
Status StepSlot::run_list(const Stage& stage, const device::CommandList& list,
                          Span<int64_t> step_ns) {
  if (step_ns.empty()) return list.run();
  const Span<int64_t> times(list_ns_.data(), stage.acts.size());
  std::fill(times.begin(), times.end(), 0);
  DVNN_TRY(list.run(times));
  for (size_t i = 0; i < times.size(); ++i) step_ns[number_of(*stage.acts[i]->step)] = times[i];
  return {};
}

Status StepSlot::hand_over(const Handover& handover, StageTimes* spent) const {
  if (handover.to_device.empty() && handover.to_cpu.empty()) return {};
  const int64_t start = now_ns();
  for (const ByteRange& r : handover.to_device) DVNN_TRY(io_.to_device(r.offset, r.bytes));
  for (const ByteRange& r : handover.to_cpu) DVNN_TRY(io_.to_cpu(r.offset, r.bytes));
  spent->cpu_ns += now_ns() - start;
  return {};
}

// Hands over all that the layer touches, as it is not known what ran before.
Result<int64_t> StepSlot::run_layer_alone(Stage* stage) {
  const MemoryUse use = memory_use(model(), plan_, *stage->acts.front());
  for (const ByteRange& r : use.reads) DVNN_TRY(io_.to_cpu(r.offset, r.bytes));
  const int64_t start = now_ns();
  DVNN_TRY(stage->layer.run());
  const int64_t took = now_ns() - start;
  for (const ByteRange& r : use.writes) DVNN_TRY(io_.to_device(r.offset, r.bytes));
  return took;
}

// A device step as a command list of its own, so that its result can be looked at.
Result<int64_t> StepSlot::run_alone(const Step& step) {
  DVNN_ASSIGN(device::CommandList commands, network_->writable_device().create_command_list());
  DVNN_TRY(add_command({&step}, input_kind_, &commands));
  DVNN_TRY(commands.commit());
  const int64_t start = now_ns();
  DVNN_TRY(commands.run());
  const int64_t took = now_ns() - start;
  const ByteRange made = plan_.range(model(), step.outputs[0]);
  DVNN_TRY(io_.to_cpu(made.offset, made.bytes));
  return took;
}

Result<const Step*> StepSlot::trace() {
  layers::Workspace workspace;
  const layers::Workspace::Loan loan(&workspace);
  for (Stage& stage : stages_) {
    for (const Act* act : stage.acts) {
      const Step& step = *act->step;
      if (auto ran = stage.layer ? run_layer_alone(&stage) : run_alone(step); !ran.ok()) {
        return ran.error();
      }
      for (int output : step.outputs) {
        if (!all_finite({tensor(output).desc, data(output)})) return &step;
      }
    }
  }
  return nullptr;
}

// Returns a slot in which each step leaves its result, with the same input.
Result<std::unique_ptr<StepSlot>> StepSlot::by_steps() const {
  auto slot = std::make_unique<StepSlot>(network_, plan_step_by_step(*network_), nullptr);
  DVNN_TRY(slot->build(nullptr));
  const Span<uint8_t> bytes = input();
  std::copy(bytes.begin(), bytes.end(), slot->input().begin());
  for (size_t i = 0; i < model().extra_inputs.size(); ++i) {
    const TensorView own = extra_input(i);
    std::copy(own.data, own.data + own.desc.bytes(), slot->extra_input(i).data);
  }
  slot->input_kind_ = input_kind_;
  DVNN_TRY(slot->io_.to_device(0, slot->io_.size()));
  return slot;
}

Result<std::string> StepSlot::first_not_finite() {
  DVNN_ASSIGN(const auto slot, by_steps());
  auto found = guarded("running the network step by step", [&] { return slot->trace(); });
  if (!found.ok()) return found.error();
  return found.value() ? found.value()->name : std::string();
}

Status StepSlot::time_apart(Span<int64_t> step_ns) {
  DVNN_ASSIGN(const auto slot, by_steps());
  return guarded("timing the network's steps", [&] { return slot->time_steps(step_ns); });
}

Status StepSlot::time_steps(Span<int64_t> step_ns) {
  layers::Workspace workspace;
  const layers::Workspace::Loan loan(&workspace);
  for (Stage& stage : stages_) {
    for (const Act* act : stage.acts) {
      DVNN_ASSIGN(nth(step_ns, number_of(*act->step)),
                  stage.layer ? run_layer_alone(&stage) : run_alone(*act->step));
    }
  }
  return {};
}

// As on a board, where no layer runs with a command.
HandoverCount StepSlot::handed_over() const {
  const SlotPlan plan = plan_slot(*network_, false);
  const StageUses uses = memory_uses(model(), plan);
  const ByteRange input = plan.range(model(), model().input.tensor);
  HandoverCount count = count_handovers(
      plan_handovers(uses, input, results(model(), plan), extras(model(), plan)), input);
  for (const auto& stage : uses) {
    if (stage.front().by_device) continue;
    for (const ByteRange& r : stage.front().reads) count.by_layers += r.bytes;
    for (const ByteRange& r : stage.front().writes) count.by_layers += r.bytes;
  }
  return count;
}

std::optional<size_t> StepSlot::command_of(size_t step) const {
  for (const Act& act : plan_.acts) {
    if (act.follower == &model().steps[step]) return number_of(*act.step);
  }
  return std::nullopt;
}

ConstTensorView StepSlot::output(size_t i) const {
  const int index = model().outputs[i].tensor;
  return {tensor(index).desc, data(index)};
}

}  // namespace

Result<std::unique_ptr<Slot>> ModelNetwork::make_slot(const Cancellation* cancellation) {
  SlotPlan plan = plan_slot(*this, device_->follows());
  const device::Memory* transient = nullptr;
  if (plan.transient_bytes > 0) {
    DVNN_ASSIGN(transient, transient_memory(plan.transient_bytes));
  }
  auto slot = std::make_unique<StepSlot>(std::static_pointer_cast<ModelNetwork>(shared_from_this()),
                                         std::move(plan), transient);
  DVNN_TRY(slot->build(cancellation));
  return std::unique_ptr<Slot>(std::move(slot));
}

}  // namespace dvnn::network
