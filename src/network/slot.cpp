// SPDX-License-Identifier: Apache-2.0
// A slot groups its steps into stages when it is created: a stage is one command list (consecutive
// device steps) or one CPU layer. run() walks the stages; it decides and allocates nothing, but for
// the command lists of the first run with pixels.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/guard.h"
#include "layers/bound_layer.h"
#include "layers/workspace.h"
#include "network/handover.h"
#include "network/model_network.h"

namespace dvnn::network {
namespace {

struct Stage {
  const Step* first = nullptr;
  size_t steps = 1;
  device::CommandList commands;    // a device stage
  device::CommandList for_pixels;  // the same where it reads pixels; made when there are some
  layers::BoundLayer layer;        // a CPU stage
};

// Nanoseconds of a run so far.
struct StageTimes {
  int64_t device_ns = 0, queued_ns = 0, cpu_ns = 0;
};

class StepSlot final : public Slot {
 public:
  explicit StepSlot(std::shared_ptr<ModelNetwork> network)
      : Slot(network), network_(std::move(network)) {}
  Status build(const Cancellation* cancellation);
  Span<uint8_t> input() const override;
  void expect_tensor() override { input_kind_ = InputKind::kTensor; }
  void expect_pixels() override { input_kind_ = InputKind::kPixels; }
  Status run(RunTimes* times) override;
  Result<std::string> first_not_finite() override;
  ConstTensorView output(size_t i) const override;
  HandoverCount handed_over() const override;

 private:
  const Model& model() const { return network_->model(); }
  Status run_stages(RunTimes* times);
  Span<int64_t> times_of(const Stage& stage, Span<int64_t> step_ns) const;
  Status hand_over(const Handover& handover, StageTimes* spent) const;
  Status run_commands(const Stage& stage, Span<int64_t> step_ns, StageTimes* spent) const;
  Status run_layer(Stage* stage, Span<int64_t> step_ns, StageTimes* spent);
  Status run_layer_alone(Stage* stage);
  Status run_alone(const Step& step);
  Result<const Step*> trace();
  Status add_device_step(const Step& step);
  Status add_command(const Step& step, InputKind kind, device::CommandList* list);
  bool reads_pixels(const Stage& stage) const {
    return std::any_of(stage.first, stage.first + stage.steps,
                       [this](const Step& step) { return network_->reads_input(step); });
  }
  Status make_lists_for_pixels();
  Status make_for_pixels(Stage* stage);
  Status add_cpu_step(const Step& step);
  const TensorInfo& tensor(int index) const { return model().tensor(index); }
  uint8_t* data(const TensorInfo& info) const {
    uint8_t* base = info.storage == Storage::kIo ? io_.data() : network_->constants();
    return base + info.offset;
  }
  static ByteRange range(const TensorInfo& info) { return {info.offset, info.desc.bytes()}; }
  ByteRange input_range() const { return range(tensor(model().input.tensor)); }
  MemoryUse use_of(const Step& step) const;
  StageUses uses() const;

  std::shared_ptr<ModelNetwork> network_;
  device::Memory io_;
  std::vector<Stage> stages_;
  layers::Workspace workspace_;
  std::vector<Handover> handovers_;  // before each stage, and after all
  bool device_takes_input_ = false;  // before any layer does
  bool spoilt_ = false;              // by a run that ended early: caches may hold anything
  InputKind input_kind_ = InputKind::kTensor;
  bool knows_pixels_ = false;  // all lists for pixels are made
};

Status StepSlot::build(const Cancellation* cancellation) {
  const uint64_t size = model().io_bytes;
  DVNN_ASSIGN(io_, network_->writable_device().allocate(size));
  // Layers may read bytes that no step writes (alignment gaps): never a previous owner's data.
  std::memset(io_.data(), 0, size);
  DVNN_TRY(io_.to_device(0, size));
  for (const Step& step : model().steps) {
    Status status = check_cancelled(cancellation);
    if (!status.ok()) return status;
    if (step.kind == StepKind::kDevice) {
      status = add_device_step(step);
    } else if (!network_->is_constant(step)) {
      status = add_cpu_step(step);
    }
    if (!status.ok()) return status.error().within("layer '" + step.name + "'");
  }
  for (Stage& stage : stages_) {
    if (stage.layer) continue;
    DVNN_TRY(check_cancelled(cancellation));
    if (Status s = stage.commands.commit(); !s.ok()) {
      return s.error().within("layers from '" + stage.first->name + "'");
    }
  }
  std::vector<ByteRange> results;
  for (const OutputInfo& output : model().outputs) {
    const TensorInfo& info = tensor(output.tensor);
    if (info.storage == Storage::kIo) results.push_back(range(info));
  }
  const StageUses stage_uses = uses();
  device_takes_input_ = device_takes(stage_uses, input_range());
  handovers_ = plan_handovers(stage_uses, input_range(), device_takes_input_, results);
  return {};
}

MemoryUse StepSlot::use_of(const Step& step) const {
  MemoryUse use;
  use.by_device = step.kind == StepKind::kDevice;
  for (int i : step.inputs) {
    if (tensor(i).storage == Storage::kIo) use.reads.push_back(range(tensor(i)));
  }
  for (int i : step.outputs) use.writes.push_back(range(tensor(i)));
  return use;
}

StageUses StepSlot::uses() const {
  StageUses uses;
  for (const Stage& stage : stages_) {
    uses.emplace_back();
    for (size_t i = 0; i < stage.steps; ++i) uses.back().push_back(use_of(stage.first[i]));
  }
  return uses;
}

Status StepSlot::add_device_step(const Step& step) {
  if (stages_.empty() || stages_.back().layer) {
    Stage stage;
    stage.first = &step;
    stage.steps = 0;
    DVNN_ASSIGN(stage.commands, network_->writable_device().create_command_list());
    stages_.push_back(std::move(stage));
  }
  ++stages_.back().steps;
  return add_command(step, InputKind::kTensor, &stages_.back().commands);
}

Status StepSlot::add_command(const Step& step, InputKind kind, device::CommandList* list) {
  auto buffer = [&](int index) { return device::BufferRef{&io_, tensor(index).offset}; };
  const device::BufferRef eltwise =
      step.command.eltwise_add ? buffer(step.inputs[1]) : device::BufferRef{};
  const bool pixels = kind == InputKind::kPixels && network_->reads_input(step);
  return list->add(step.command, buffer(step.inputs[0]), buffer(step.outputs[0]), eltwise,
                   network_->weights(),
                   pixels ? device::BufferRef{&network_->pixel_table(), 0} : device::BufferRef{});
}

// Only slots that are fed pixels need these command lists, so the first run with pixels makes them:
// a device that does not answer is noticed in the threads that run slots, and in no others.
Status StepSlot::make_lists_for_pixels() {
  if (knows_pixels_) return {};
  for (Stage& stage : stages_) {
    if (stage.layer || stage.for_pixels || !reads_pixels(stage)) continue;
    if (Status s = make_for_pixels(&stage); !s.ok()) {
      return s.error().within("layer '" + stage.first->name + "'");
    }
  }
  knows_pixels_ = true;
  return {};
}

Status StepSlot::make_for_pixels(Stage* stage) {
  // A list that is not complete must not be found by the next frame.
  DVNN_ASSIGN(auto list, network_->writable_device().create_command_list());
  for (size_t i = 0; i < stage->steps; ++i) {
    DVNN_TRY(add_command(stage->first[i], InputKind::kPixels, &list));
  }
  DVNN_TRY(list.commit());
  stage->for_pixels = std::move(list);
  return {};
}

Status StepSlot::add_cpu_step(const Step& step) {
  Stage stage;
  stage.first = &step;
  for (int i : step.inputs) {
    const TensorInfo& info = tensor(i);
    stage.layer.add_input({info.desc, data(info)});
  }
  for (int i : step.outputs) {
    const TensorInfo& info = tensor(i);
    stage.layer.add_output({info.desc, data(info)});
  }
  DVNN_TRY(stage.layer.create(*step.layer, network_->library()));
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (tensor(step.inputs[i]).storage == Storage::kConstant) stage.layer.input_will_stay(i);
  }
  stages_.push_back(std::move(stage));
  return {};
}

Span<uint8_t> StepSlot::input() const {
  const TensorInfo& info = tensor(model().input.tensor);
  return {data(info), info.desc.bytes()};
}

Status StepSlot::run(RunTimes* times) {
  if (spoilt_) DVNN_TRY(io_.to_device(0, io_.size()));
  spoilt_ = true;
  DVNN_TRY(guarded("running the network", [&] { return run_stages(times); }));
  spoilt_ = false;
  return {};
}

Status StepSlot::run_stages(RunTimes* times) {
  if (input_kind_ == InputKind::kPixels) DVNN_TRY(make_lists_for_pixels());
  if (device_takes_input_) {
    const ByteRange in = input_range();
    const bool pixels = input_kind_ == InputKind::kPixels;
    DVNN_TRY(io_.to_device(in.offset, pixels ? in.bytes / sizeof(half_t) : in.bytes));
  }
  StageTimes spent;
  const layers::Workspace::Loan loan(&workspace_);
  const SharedThreads threads(network_->device().share());
  for (size_t i = 0; i < stages_.size(); ++i) {
    Stage* const stage = &stages_[i];
    const Span<int64_t> step_ns = times ? times_of(*stage, times->step_ns) : Span<int64_t>();
    Status status = hand_over(handovers_[i], &spent);
    if (status.ok()) {
      status =
          stage->layer ? run_layer(stage, step_ns, &spent) : run_commands(*stage, step_ns, &spent);
    }
    if (!status.ok()) return status.error().within("layer '" + stage->first->name + "'");
  }
  DVNN_TRY(hand_over(handovers_.back(), &spent));
  if (times) {
    times->device_us = spent.device_ns / 1000;
    times->cpu_us = spent.cpu_ns / 1000;
    times->queued_us = spent.queued_ns / 1000;
  }
  return {};
}

Status StepSlot::run_layer(Stage* stage, Span<int64_t> step_ns, StageTimes* spent) {
  const int64_t start = now_ns();
  DVNN_TRY(stage->layer.run());
  const int64_t took = now_ns() - start;
  spent->cpu_ns += took;
  if (!step_ns.empty()) step_ns[0] = took;
  return {};
}

Status StepSlot::run_commands(const Stage& stage, Span<int64_t> step_ns, StageTimes* spent) const {
  const bool pixels = input_kind_ == InputKind::kPixels;
  const auto& list = pixels && stage.for_pixels ? stage.for_pixels : stage.commands;
  const int64_t start = now_ns();
  DVNN_TRY(list.run(step_ns));
  const int64_t took = now_ns() - start, told = list.last_exec_time() * 1000;
  const int64_t on_device = told > 0 ? std::min(told, took) : took;
  spent->device_ns += on_device;
  spent->queued_ns += took - on_device;
  return {};
}

Status StepSlot::hand_over(const Handover& handover, StageTimes* spent) const {
  const int64_t start = now_ns();
  for (const ByteRange& r : handover.to_device) DVNN_TRY(io_.to_device(r.offset, r.bytes));
  for (const ByteRange& r : handover.to_cpu) DVNN_TRY(io_.to_cpu(r.offset, r.bytes));
  spent->cpu_ns += now_ns() - start;
  return {};
}

Span<int64_t> StepSlot::times_of(const Stage& stage, Span<int64_t> step_ns) const {
  const size_t first = static_cast<size_t>(stage.first - model().steps.data());
  return step_ns.size() < first + stage.steps ? Span<int64_t>()
                                              : Span<int64_t>(&step_ns[first], stage.steps);
}

// Hands over all that the layer touches, whoever has it: nobody knows what ran before.
Status StepSlot::run_layer_alone(Stage* stage) {
  const MemoryUse use = use_of(*stage->first);
  for (const ByteRange& r : use.reads) DVNN_TRY(io_.to_cpu(r.offset, r.bytes));
  DVNN_TRY(stage->layer.run());
  for (const ByteRange& r : use.writes) DVNN_TRY(io_.to_device(r.offset, r.bytes));
  return {};
}

// A device step as a command list of its own, so that its result can be looked at.
Status StepSlot::run_alone(const Step& step) {
  DVNN_ASSIGN(device::CommandList commands, network_->writable_device().create_command_list());
  DVNN_TRY(add_command(step, input_kind_, &commands));
  DVNN_TRY(commands.commit());
  DVNN_TRY(commands.run());
  const ByteRange made = range(tensor(step.outputs[0]));
  return io_.to_cpu(made.offset, made.bytes);
}

Result<const Step*> StepSlot::trace() {
  const layers::Workspace::Loan loan(&workspace_);
  for (Stage& stage : stages_) {
    for (size_t i = 0; i < stage.steps; ++i) {
      const Step& step = stage.first[i];
      DVNN_TRY(stage.layer ? run_layer_alone(&stage) : run_alone(step));
      for (int output : step.outputs) {
        const TensorInfo& info = tensor(output);
        if (!all_finite({info.desc, data(info)})) return &step;
      }
    }
  }
  return nullptr;
}

Result<std::string> StepSlot::first_not_finite() {
  const Span<uint8_t> bytes = input();
  const std::vector<uint8_t> kept(bytes.begin(), bytes.end());
  DVNN_TRY(io_.to_device(0, io_.size()));
  spoilt_ = true;
  auto found = guarded("running the network step by step", [&] { return trace(); });
  std::copy(kept.begin(), kept.end(), bytes.begin());  // later steps may have used its memory
  if (!found.ok()) return found.error();
  return found.value() ? found.value()->name : std::string();
}

HandoverCount StepSlot::handed_over() const {
  HandoverCount count;
  for (const Handover& handover : handovers_) count_handover(handover, &count);
  if (device_takes_input_) {
    count.to_device += input_range().bytes;
    count.crossing += input_range().bytes;
    ++count.calls;
  }
  for (const Stage& stage : stages_) {
    if (!stage.layer) continue;
    const MemoryUse use = use_of(*stage.first);
    for (const ByteRange& r : use.reads) count.by_layers += r.bytes;
    for (const ByteRange& r : use.writes) count.by_layers += r.bytes;
  }
  return count;
}

ConstTensorView StepSlot::output(size_t i) const {
  const TensorInfo& info = tensor(model().outputs[i].tensor);
  return {info.desc, data(info)};
}

}  // namespace

Result<std::unique_ptr<Slot>> ModelNetwork::make_slot(const Cancellation* cancellation) {
  auto slot =
      std::make_unique<StepSlot>(std::static_pointer_cast<ModelNetwork>(shared_from_this()));
  DVNN_TRY(slot->build(cancellation));
  return std::unique_ptr<Slot>(std::move(slot));
}

}  // namespace dvnn::network
