// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "device/limits.h"
#include "layers/attributes.h"
#include "plan/graph/saved_graph.h"
#include "plan/layout/memory_plan.h"
#include "plan/layout/placement.h"
#include "plan/passes/quantise.h"
#include "tensor/half.h"

namespace dvnn::plan {
namespace {

using network::Model;
using network::Step;
using network::StepKind;
using network::Storage;

class Assembler {
 public:
  Assembler(const Graph& graph, const PlanOptions& options, PlanReport* report)
      : graph_(graph), options_(options), report_(report), placer_(graph, options.hwc) {}

  Result<Model> run(const InputSpec& picture) {
    model_.name = graph_.name;
    model_.input.tensor = tensor_of(graph_.input);
    model_.input.picture = picture;
    for (const ExtraInput& input : graph_.extra_inputs) {
      model_.extra_inputs.push_back({nth(graph_.values, input.value).name, tensor_of(input.value)});
    }
    reserve_weights();
    for (size_t i : schedule(graph_, placer_)) {
      DVNN_TRY(check_cancelled(options_.cancellation));
      const Node& node = graph_.nodes[i];
      if (placer_.destination(i) == Destination::kDevice) {
        if (Status s = add_device_step(node); !s.ok()) {
          return s.error().within("layer '" + node.name + "'");
        }
      } else if (placer_.destination(i) == Destination::kCpu) {
        DVNN_TRY(add_cpu_step(node));
      } else {
        note(node, "in place", "its result lies where it belongs");
      }
    }
    for (size_t i = 0; i < model_.extra_inputs.size(); ++i) {
      const int next = graph_.extra_inputs[i].next;
      if (next >= 0) model_.extra_inputs[i].next = tensor_of(nth(graph_.outputs, next));
    }
    for (size_t i = 0; i + graph_.hidden_outputs < graph_.outputs.size(); ++i) {
      model_.outputs.push_back({graph_.output_names[i], tensor_of(graph_.outputs[i])});
    }
    DVNN_TRY(check_cancelled(options_.cancellation));
    place_buffers();
    return std::move(model_);
  }

 private:
  // Asks once for the memory of all packed weights, as they would be copied each time that their
  // memory grows. Packing adds to most networks less than a quarter; what is not used is never
  // touched, so that it takes no memory.
  void reserve_weights() {
    size_t halves = 0;
    for (const Node& node : graph_.nodes) {
      halves += node.weights.size() + node.bias.size();
      if (const auto* branches = node.as<Branches>()) {
        for (const Node& part : branches->parts) halves += part.weights.size() + part.bias.size();
      }
    }
    model_.weights.reserve(halves * sizeof(half_t) / 4 * 5);
  }

  // A tensor of the model, and the value that owns its memory.
  struct View {
    int value;
    TensorDesc desc;
  };

  int add_view(int value, const TensorDesc& desc) {
    std::vector<int>& known = views_of_[value];
    for (int i : known) {
      const TensorDesc& have = nth(views_, i).desc;
      if (have.layout == desc.layout && have.shape == desc.shape) return i;
    }
    known.push_back(static_cast<int>(views_.size()));
    views_.push_back({value, desc});
    model_.tensors.push_back({nth(graph_.values, value).name, desc,
                              placer_.at(value).constant ? Storage::kConstant : Storage::kIo, 0});
    return static_cast<int>(views_.size()) - 1;
  }

  int tensor_of(int value) { return add_view(value, placer_.at(value).desc); }

  // Returns the tensor of a value as a command reads it: a picture in chunks; `flat`: one pixel of
  // all its elements; `fold`: pixels in another width and height.
  int device_tensor_of(int value, bool flat, device::Extent fold) {
    TensorDesc desc = placer_.at(value).desc;
    desc.layout = options_.hwc ? Layout::kHwc8 : Layout::kWhc8;
    if (flat || desc.shape.rank != 4) {
      desc.shape = {1, static_cast<int>(desc.shape.elements()), 1, 1};
    }
    if (fold.x > 0) desc.shape = {1, desc.shape.c(), fold.y, fold.x};
    return add_view(value, desc);
  }

  Status add_device_step(const Node& node) {
    const bool flat = node.flattens();
    Step step;
    step.kind = StepKind::kDevice;
    step.name = node.name;
    step.layers = node.layers;
    // Folded commands of single pixels have as many results as input pixels.
    const bool folds = node.fold.x > 0;
    const bool by_pixel = folds && device::works_by_pixel(node.run);
    const device::Extent same = {0, 0};
    step.inputs = {device_tensor_of(node.inputs[0], flat, node.fold)};
    step.outputs = {device_tensor_of(node.output, false, by_pixel ? node.fold : same)};
    if (node.adds()) step.inputs.push_back(device_tensor_of(node.inputs[1], false, node.fold));
    const Shape in = model_.tensor(step.inputs[0]).desc.shape;
    step.command.w = in.w();
    step.command.h = in.h();
    step.command.c = in.c();
    step.command.hwc = options_.hwc;
    step.command.eltwise_add = node.adds();
    if (const auto* branches = node.as<Branches>()) {
      DVNN_TRY(add_branches(*branches, {in.w(), in.h(), in.c()}, &step.command));
    } else {
      DVNN_TRY(add_run(node, {in.w(), in.h(), in.c()}, &step.command));
    }
    model_.steps.push_back(std::move(step));
    note(node, "device", why_device(node));
    return {};
  }

  Status add_run(const Node& node, device::Dims in, device::ConvCommand* command) {
    device::ConvRun run = node.run;
    if (run.conv != device::ConvKind::kNone) DVNN_TRY(add_weights(node, in.c, &run));
    const std::string problem = device::misfit(run, in, options_.limits);
    if (!problem.empty()) return too_large(problem);
    command->runs.push_back(run);
    return {};
  }

  Status add_branches(const Branches& branches, device::Dims in, device::ConvCommand* command) {
    command->topo = branches.topo;
    device::RunWalk walk(in, branches.topo);
    for (const Node& part : branches.parts) {
      DVNN_TRY(add_run(part, walk.in(), command));
      walk.pass(command->runs.back());
    }
    return {};
  }

  // Rounds to binary16; a weight that does not fit is an error rather than an infinity.
  static Result<std::vector<half_t>> to_half(const std::vector<float>& values, const char* what) {
    constexpr float kLargest = 65504.0f;
    std::vector<half_t> halves(values.size());
    float_to_half(values.data(), halves.data(), values.size());
    for (float v : values) {
      if (!(std::fabs(v) <= kLargest)) {
        return unsupported(
            format("%s %g does not fit 16-bit floating point (%g at the most)", what, v, kLargest));
      }
    }
    return halves;
  }

  // Checks that the node has as many numbers as the packer will read by the geometry, whichever
  // front end or pass made it.
  Status check_weights(const Node& node, const PackedGeometry& geometry) const {
    const int most = options_.limits.kernel;
    const size_t m = geometry.outputs();
    const bool kernel_fits =
        std::min(geometry.kx, geometry.ky) >= 1 && std::max(geometry.kx, geometry.ky) <= most;
    const bool counts_fit = node.weights.size() == geometry.weights() && node.bias.size() == m;
    const bool slopes_fit = !geometry.prelu || node.slopes.empty() || node.slopes.size() == m;
    if (kernel_fits && counts_fit && slopes_fit) return {};
    return malformed(
        format("has %zu weights, %zu biases and %zu slopes for %d outputs of %d channels and a "
               "kernel of %d x %d (at most %d x %d)",
               node.weights.size(), node.bias.size(), node.slopes.size(), geometry.m, geometry.c,
               geometry.kx, geometry.ky, most, most));
  }

  Status add_weights(const Node& node, int channels, device::ConvRun* run) {
    // The bytes of the weights are not known yet, and do not affect their number.
    PackedGeometry geometry = device::run_geometry(*run, channels);
    DVNN_TRY(check_weights(node, geometry));
    // The strips of one convolution share its weights.
    const auto known = packed_.find({node.saved, node.part});
    if (known != packed_.end() && known->second.prelu == geometry.prelu) {
      run->weight_offset = known->second.offset;
      run->weight_format = known->second.format;
      return {};
    }
    std::vector<float> weights = node.weights;
    if (options_.hwc) {  // the device then reads kernels transposed
      transpose_kernels(run->kernel.y, run->kernel.x, &weights);
      std::swap(geometry.kx, geometry.ky);
    }
    DVNN_ASSIGN(const auto halves, to_half(weights, "weight"));
    const bool may_be_bytes = run->activation != device::Activation::kPrelu;
    const bool shall_be_bytes = options_.quantise && !node.half_weights;
    const bool are_bytes_now = may_be_bytes && !shall_be_bytes && are_bytes(halves);
    const bool quantised = are_bytes_now || (may_be_bytes && shall_be_bytes);
    if (are_bytes_now) half_to_float(halves.data(), weights.data(), weights.size());
    geometry.quantised = quantised;
    run->weight_format = quantised ? device::WeightFormat::kQuantised : device::WeightFormat::kHalf;
    run->weight_offset = model_.weights.size();
    if (node.saved >= 0) {
      const auto* flat = node.as<FlatInput>();
      packed_[{node.saved, node.part}] = {run->weight_offset, run->weight_format, geometry.prelu};
      network::WeightPlace& whole = model_.saved.weights[node.saved];
      whole.rest.resize(static_cast<size_t>(node.parts - 1));
      network::WeightPlace& place = node.part == 0 ? whole : nth(whole.rest, node.part - 1);
      place.offset = run->weight_offset;
      place.quantised = quantised;
      place.prelu = geometry.prelu;
      place.dilated = geometry.dilated;
      place.fixed = flat && flat->reordered;
    }
    DVNN_ASSIGN(const auto bias, to_half(node.bias, "bias"));
    DVNN_ASSIGN(const auto slopes, to_half(node.slopes, "slope"));
    const uint64_t packed = model_.weights.size() + packed_weights_size(geometry);
    DVNN_TRY(check_budget(Budget::kWeightBytes, packed, "packed weights"));
    model_.weights.resize(packed);
    WeightSource source = {nullptr, halves.data(), bias.data(),
                           slopes.empty() ? nullptr : slopes.data()};
    QuantisedWeights bytes;
    if (quantised) {
      bytes = quantise(weights);
      source.table = bytes.table.data();
      source.weights = bytes.indices.data();
    }
    pack_weights(geometry, source, model_.weights.data() + run->weight_offset);
    return {};
  }

  Status add_cpu_step(const Node& node) {
    const auto* layer = node.as<CpuLayer>();
    if (!layer) {
      return Error{ErrorCode::kInternal, "layer '" + node.name + "' is no layer of the CPU's"};
    }
    Step step;
    step.kind = StepKind::kCpu;
    step.name = node.name;
    step.layers = node.layers;
    step.layer = std::make_shared<layers::LayerAttributes>(layer->attributes);
    for (int value : node.inputs) step.inputs.push_back(tensor_of(value));
    step.outputs = {tensor_of(node.output)};
    model_.steps.push_back(std::move(step));
    if (placer_.at(node.output).constant) {
      note(node, "once", "it depends on parameters alone");
    } else {
      note(node, "CPU", why_cpu(node));
    }
    return {};
  }

  void note(const Node& node, const char* where, const std::string& why) {
    if (report_) report_->steps.push_back({where, why, node.layers});
  }

  // Returns why a command is not simply the layer's own.
  static std::string why_device(const Node& node) {
    if (const auto* branches = node.as<Branches>()) {
      return format("one command of %zu runs", branches->parts.size());
    }
    if (node.why.empty()) return "";
    if (node.parts > 1) {
      return format("part %d of %d of its channels: ", node.part + 1, node.parts) + node.why;
    }
    if (node.fold.x == 0) return "a strip: " + node.why;
    return format("its pixels counted as %d x %d: %s", node.fold.x, node.fold.y, node.why.c_str());
  }

  std::string why_cpu(const Node& node) const {
    if (!node.why.empty()) return node.why;
    if (node.op == Op::kReshape) return "the device's order of elements is another";
    if (node.op != Op::kConcat) return "the device has no " + node.layer_type();
    const bool pictures =
        graph_.shape_of(node.output).rank == 4 && node.layer<layers::ConcatAttributes>()->axis == 1;
    return pictures ? "its inputs do not end with whole chunks of 8 channels, or lie elsewhere"
                    : "the device joins along channels only";
  }

  // Assigns offsets to all roots by their lifetimes, then to every view.
  void place_buffers() {
    std::map<int, PlannedBuffer> io;
    std::set<int> for_device;  // roots that a command reads or writes
    std::map<int, uint64_t> constants;
    const int last = static_cast<int>(model_.steps.size());
    // Buffers that the CPU touches have their own cache lines.
    auto touch = [&](int view, int step, bool by_cpu) {
      uint64_t offset = 0;
      const int root = placer_.root(nth(views_, view).value, &offset);
      const uint64_t bytes = placer_.at(root).desc.bytes();
      if (placer_.at(root).constant) {
        constants.emplace(root, 0);
        return;
      }
      auto [it, fresh] = io.emplace(root, PlannedBuffer{bytes, step, step, kDeviceAlignment, 0});
      if (by_cpu) it->second.alignment = kCpuAlignment;
      if (!by_cpu) for_device.insert(root);
      it->second.birth = std::min(it->second.birth, step);
      it->second.death = std::max(it->second.death, step);
    };
    touch(model_.input.tensor, -1, true);
    for (const auto& input : model_.extra_inputs) touch(input.tensor, -1, true);
    for (int s = 0; s < last; ++s) {
      const Step& step = nth(model_.steps, s);
      const bool by_cpu = step.kind == StepKind::kCpu;
      for (int view : step.inputs) touch(view, s, by_cpu);
      for (int view : step.outputs) touch(view, s, by_cpu);
    }
    for (const auto& output : model_.outputs) touch(output.tensor, last, true);
    for (const auto& input : model_.extra_inputs) {
      if (input.is_state()) touch(input.next, last, true);
    }

    // Values that only CPU layers use lie apart: memory that a command writes next would have to be
    // cleaned from the caches first.
    uint64_t sum = 0;
    for (const bool of_device : {true, false}) {
      std::vector<PlannedBuffer> buffers;
      for (const auto& [root, buffer] : io) {
        if ((for_device.count(root) != 0) != of_device) continue;
        buffers.push_back(buffer);
        sum += buffer.size;
      }
      const uint64_t begin = (model_.io_bytes + kCpuAlignment - 1) / kCpuAlignment * kCpuAlignment;
      if (!buffers.empty()) model_.io_bytes = begin + plan_memory(&buffers);
      size_t next = 0;
      for (auto& [root, buffer] : io) {
        if ((for_device.count(root) != 0) == of_device)
          buffer.offset = begin + buffers[next++].offset;
      }
    }
    for (auto& [root, offset] : constants) {
      offset = model_.constant_bytes;
      const uint64_t bytes = placer_.at(root).desc.bytes();
      model_.constant_bytes += (bytes + kCpuAlignment - 1) / kCpuAlignment * kCpuAlignment;
    }
    for (size_t i = 0; i < views_.size(); ++i) {
      uint64_t offset = 0;
      const int root = placer_.root(views_[i].value, &offset);
      model_.tensors[i].offset =
          offset + (placer_.at(root).constant ? constants[root] : io[root].offset);
    }
    if (report_) {
      report_->io_peak_bytes = model_.io_bytes;
      report_->io_sum_bytes = sum;
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  PlanReport* report_;
  Placer placer_;
  Model model_;
  std::vector<View> views_;
  struct Packed {
    uint64_t offset;
    device::WeightFormat format;
    bool prelu;
  };
  std::map<std::pair<int, int>, Packed> packed_;  // by saved node and part: place of its weights
  std::unordered_map<int, std::vector<int>> views_of_;  // by value: views, few of each
};

}  // namespace

Result<Model> assemble(const Graph& graph, const PlanOptions& options, const InputSpec& picture,
                       PlanReport* report) {
  return Assembler(graph, options, report).run(picture);
}

}  // namespace dvnn::plan
