// SPDX-License-Identifier: Apache-2.0
#include "network/model.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "device/limits.h"
#include "layers/attributes.h"
#include "layers/cost.h"
#include "tensor/tensor.h"

namespace dvnn::network {

Model::~Model() {
  let_go(&decoder.params);
  let_go(&saved.graph);
}

namespace {

using device::ConvRun;
using device::Dims;
using device::Extent;
using device::Pad;

Error over_limit(const std::string& what, int64_t value, int64_t limit) {
  return {ErrorCode::kLimit, format("%s is %lld, the limit is %lld", what.c_str(),
                                    static_cast<long long>(value), static_cast<long long>(limit))};
}

Status validate_tensor(const Model& model, const TensorInfo& tensor) {
  DVNN_TRY(check_shape(tensor.desc.shape));
  if (tensor.desc.layout != Layout::kNchw && tensor.desc.shape.rank != 4) {
    return malformed(format("layout %s needs 4 dimensions, the shape is %s",
                            to_string(tensor.desc.layout), tensor.desc.shape.to_string().c_str()));
  }
  const uint64_t align = element_size(tensor.desc.type);
  if (tensor.offset % align != 0) {
    return malformed(format("offset %llu is not a multiple of %llu",
                            static_cast<unsigned long long>(tensor.offset),
                            static_cast<unsigned long long>(align)));
  }
  const uint64_t room = tensor.storage == Storage::kIo ? model.io_bytes : model.constant_bytes;
  const uint64_t bytes = tensor.desc.bytes();
  if (bytes > room || tensor.offset > room - bytes) {
    return malformed(format("bytes %llu..%llu lie outside its buffer of %llu bytes",
                            static_cast<unsigned long long>(tensor.offset),
                            static_cast<unsigned long long>(tensor.offset + bytes),
                            static_cast<unsigned long long>(room)));
  }
  return {};
}

Status validate_extent(const char* name, const Extent& e, int limit) {
  for (int v : {e.x, e.y}) {
    if (v < 1 || v > limit) return malformed(format("%s is %d, not 1..%d", name, v, limit));
  }
  return {};
}

Status validate_pad(const char* name, const Pad& pad) {
  const struct {
    int value, limit;
  } sides[] = {{pad.left, device::kMaxPadLeftTop},
               {pad.top, device::kMaxPadLeftTop},
               {pad.right, device::kMaxPadRightBottom},
               {pad.bottom, device::kMaxPadRightBottom}};
  for (const auto& side : sides) {
    if (side.value < 0 || side.value > side.limit) {
      return malformed(format("%s is %d, not 0..%d", name, side.value, side.limit));
    }
  }
  return {};
}

// The device's layouts; C <= 8 makes chunked and plain order the same.
bool is_device_layout(const TensorDesc& desc, bool hwc) {
  const Layout chunked = hwc ? Layout::kHwc8 : Layout::kWhc8;
  const Layout plain = hwc ? Layout::kNhwc : Layout::kNwhc;
  return desc.type == ElementType::kFloat16 && desc.shape.rank == 4 && desc.shape.n() == 1 &&
         (desc.layout == chunked || (desc.layout == plain && desc.shape.c() <= 8));
}

Status validate_run(const Model& model, const ConvRun& run, Dims in) {
  DVNN_TRY(validate_extent("kernel", run.kernel, device::kMaxKernel));
  DVNN_TRY(validate_extent("stride", run.stride, device::kMaxStride));
  DVNN_TRY(validate_extent("dilation", run.dilation, device::kMaxStride));
  DVNN_TRY(validate_extent("pool size", run.pool_size, device::kMaxStride));
  DVNN_TRY(validate_extent("pool stride", run.pool_stride, device::kMaxStride));
  DVNN_TRY(validate_pad("convolution pad", run.conv_pad));
  DVNN_TRY(validate_pad("pool pad", run.pool_pad));
  if (run.m < 1 || run.m > device::kMaxChannels)
    return over_limit("output channels", run.m, device::kMaxChannels);
  if (run.conv != device::ConvKind::kNone) {
    if (run.weight_format == device::WeightFormat::kNone) {
      return malformed("a convolution has weights of format 'none'");
    }
    const size_t bytes = packed_weights_size(device::run_geometry(run, in.c));
    if (run.weight_offset % 16 != 0 || bytes > model.weights.size() ||
        run.weight_offset > model.weights.size() - bytes) {
      return malformed(
          format("weights at %llu (%zu bytes) lie outside the %zu bytes of weights, "
                 "or are not aligned to 16",
                 static_cast<unsigned long long>(run.weight_offset), bytes, model.weights.size()));
    }
  }
  const Dims out = device::run_output(run, in);
  if (out.w < 1 || out.h < 1 || out.w > device::kMaxExtent || out.h > device::kMaxExtent) {
    return malformed(
        format("the output is %d x %d pixels, not 1..%d", out.w, out.h, device::kMaxExtent));
  }
  return {};
}

Status validate_device_step(const Model& model, const Step& step) {
  const auto& cmd = step.command;
  if (step.inputs.empty() || step.inputs.size() != (cmd.eltwise_add ? 2u : 1u) ||
      step.outputs.size() != 1) {
    return malformed("a device step has one input (two with eltwise_add) and one output");
  }
  const TensorInfo& input = model.tensor(step.inputs[0]);
  const TensorInfo& output = model.tensor(step.outputs[0]);
  for (int index : {step.inputs[0], step.outputs[0], step.inputs.back()}) {
    const TensorInfo& tensor = model.tensor(index);
    if (tensor.storage != Storage::kIo || !is_device_layout(tensor.desc, cmd.hwc)) {
      return malformed("tensor '" + tensor.name + "' is not in the device's layout or memory");
    }
  }
  const Shape& in = input.desc.shape;
  if (in.w() != cmd.w || in.h() != cmd.h || in.c() != cmd.c || cmd.w > device::kMaxExtent ||
      cmd.h > device::kMaxExtent || cmd.c > device::kMaxChannels) {
    return malformed(
        format("the command's input is %d x %d x %d, tensor '%s' is %s, and the "
               "device's limit is %d x %d x %d",
               cmd.w, cmd.h, cmd.c, input.name.c_str(), in.to_string().c_str(), device::kMaxExtent,
               device::kMaxExtent, device::kMaxChannels));
  }
  if (cmd.runs.empty() || cmd.runs.size() > device::kMaxRuns ||
      (cmd.topo >> (cmd.runs.size() - 1)) != 1) {
    return malformed(format("topo 0x%x does not fit %zu runs (1..%zu)", cmd.topo, cmd.runs.size(),
                            device::kMaxRuns));
  }
  int64_t external = 0, eltwise = 0;
  device::RunWalk walk({cmd.w, cmd.h, cmd.c}, cmd.topo);
  for (const ConvRun& run : cmd.runs) {
    if (Status s = validate_run(model, run, walk.in()); !s.ok()) {
      return s.error().within("run " + std::to_string(walk.index()));
    }
    const Dims out = device::run_output(run, walk.in());
    const Dims before_pool =
        run.pool == device::PoolKind::kAverage ? out : device::conv_output(run, walk.in());
    if (walk.writes_memory()) {
      external += int64_t{out.w} * out.h * out.c;
      eltwise += int64_t{before_pool.w} * before_pool.h * before_pool.c;
    }
    walk.pass(run);
  }
  if (external != output.desc.shape.elements()) {
    return malformed(format("the runs make %lld elements, tensor '%s' holds %lld",
                            static_cast<long long>(external), output.name.c_str(),
                            static_cast<long long>(output.desc.shape.elements())));
  }
  if (cmd.eltwise_add) {
    const TensorInfo& operand = model.tensor(step.inputs[1]);
    if (eltwise != operand.desc.shape.elements()) {
      return malformed(format("the sum has %lld elements, operand '%s' holds %lld",
                              static_cast<long long>(eltwise), operand.name.c_str(),
                              static_cast<long long>(operand.desc.shape.elements())));
    }
  }
  return {};
}

// A tensor's place in its buffer.
struct Range {
  Storage storage;
  uint64_t begin, end;
  bool meets(const Range& o) const {
    return storage == o.storage && begin < o.end && o.begin < end;
  }
  bool equals(const Range& o) const {
    return storage == o.storage && begin == o.begin && end == o.end;
  }
};

Range range_of(const TensorInfo& tensor) {
  return {tensor.storage, tensor.offset, tensor.offset + tensor.desc.bytes()};
}

// A step must not overwrite a part of what it has yet to read, because its result would be
// unpredictable. CPU layers may read and write exactly the same bytes.
Status validate_overlaps(const Model& model, const Step& step) {
  const bool on_device = step.kind == StepKind::kDevice;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const TensorInfo& output = model.tensor(step.outputs[i]);
    const Range written = range_of(output);
    for (int index : step.inputs) {
      const TensorInfo& input = model.tensor(index);
      const Range read = range_of(input);
      if (!written.meets(read) || (!on_device && written.equals(read))) continue;
      return malformed(format("output '%s' at bytes %llu..%llu overlaps input '%s' at %llu..%llu",
                              output.name.c_str(), static_cast<unsigned long long>(written.begin),
                              static_cast<unsigned long long>(written.end), input.name.c_str(),
                              static_cast<unsigned long long>(read.begin),
                              static_cast<unsigned long long>(read.end)));
    }
    for (size_t k = 0; k < i; ++k) {
      const TensorInfo& other = model.tensor(step.outputs[k]);
      if (!written.meets(range_of(other))) continue;
      return malformed("outputs '" + output.name + "' and '" + other.name + "' overlap");
    }
  }
  return {};
}

Status validate_step(const Model& model, const Step& step) {
  constexpr size_t kMaxInputs = 4096,
                   kMaxOutputs = 16;  // each input is checked against each output
  if (step.inputs.size() > kMaxInputs || step.outputs.size() > kMaxOutputs) {
    return malformed(format("it has %zu inputs and %zu outputs, the limits are %zu and %zu",
                            step.inputs.size(), step.outputs.size(), kMaxInputs, kMaxOutputs));
  }
  if (step.outputs.empty()) return malformed("a step needs an output");
  for (const auto* list : {&step.inputs, &step.outputs}) {
    for (int index : *list) {
      if (!has_nth(model.tensors, index)) {
        return malformed(
            format("tensor %d does not exist (there are %zu)", index, model.tensors.size()));
      }
    }
  }
  DVNN_TRY(validate_overlaps(model, step));
  if (step.kind == StepKind::kDevice) return validate_device_step(model, step);
  // A constant may only come from constants: it is made before there is a frame.
  auto storage = [&](int i) { return model.tensor(i).storage; };
  const bool constant = storage(step.outputs[0]) == Storage::kConstant;
  for (int i : step.outputs) {
    if ((storage(i) == Storage::kConstant) != constant) {
      return malformed("outputs mix constant and per-frame memory");
    }
  }
  for (int i : step.inputs) {
    if (constant && storage(i) != Storage::kConstant) {
      return malformed("a constant step reads per-frame tensor '" + model.tensor(i).name + "'");
    }
  }
  return {};
}

Status validate_names(const Model& model) {
  auto named = [](const std::string& what, const std::string& name) -> Status {
    if (Status s = check_name(name); !s.ok()) return s.error().within(what);
    return {};
  };
  const std::pair<const char*, const std::string*> own[] = {
      {"name", &model.name},
      {"producer", &model.producer},
      {"source", &model.source},
      {"decoder's name", &model.decoder.name}};
  for (const auto& [what, text] : own) DVNN_TRY(named(what, *text));
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    DVNN_TRY(named(format("name of tensor %zu", i), model.tensors[i].name));
  }
  for (const OutputInfo& output : model.outputs) DVNN_TRY(named("name of an output", output.name));
  for (const ExtraInput& input : model.extra_inputs)
    DVNN_TRY(named("name of an input", input.name));
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    DVNN_TRY(named(format("name of step %zu", i), step.name));
    if (step.kind == StepKind::kCpu) {
      if (!step.layer) return malformed(format("step %zu of the CPU has no layer", i));
      DVNN_TRY(named(format("type of step %zu", i), layers::type_of(*step.layer)));
    }
    for (const std::string& layer : step.layers) {
      DVNN_TRY(named(format("a layer of step %zu", i), layer));
    }
  }
  // Labels may hold what their authors wrote, tabs for one: what prints them escapes them.
  for (size_t i = 0; i < model.labels.size(); ++i) {
    if (model.labels[i].size() <= kMaxLabelBytes) continue;
    return over_limit(format("length of label %zu", i),
                      static_cast<int64_t>(model.labels[i].size()), kMaxLabelBytes);
  }
  return {};
}

// The caller names live inputs, and writes all inputs before the first step, so that none may have
// another one's name, or lie in its memory.
Status validate_extra_inputs(const Model& model) {
  if (model.extra_inputs.size() > kMaxExtraInputs) {
    return over_limit("the number of extra inputs", static_cast<int64_t>(model.extra_inputs.size()),
                      kMaxExtraInputs);
  }
  const auto in_io = [&](int index) {
    return has_nth(model.tensors, index) && model.tensor(index).storage == Storage::kIo;
  };
  std::vector<Range> written = {range_of(model.tensor(model.input.tensor))};
  std::set<std::string> names = {model.tensor(model.input.tensor).name};
  for (const ExtraInput& input : model.extra_inputs) {
    const std::string what = "extra input '" + input.name + "'";
    if (!in_io(input.tensor)) return malformed(what + " is not a per-frame tensor");
    const Range range = range_of(model.tensor(input.tensor));
    if (!names.insert(input.name).second) return malformed(what + " has another input's name");
    for (const Range& other : written) {
      if (range.meets(other)) return malformed(what + " lies in another input's memory");
    }
    written.push_back(range);
    if (!input.is_state()) continue;
    if (!in_io(input.next)) {
      return malformed(what + " is a state: its next value is not a per-frame tensor");
    }
    const Shape& is = model.tensor(input.tensor).desc.shape;
    const Shape& becomes = model.tensor(input.next).desc.shape;
    if (is == becomes) continue;
    return malformed(format("%s is a state of shape %s, its next value has shape %s", what.c_str(),
                            is.to_string().c_str(), becomes.to_string().c_str()));
  }
  return {};
}

struct Work {
  uint64_t macs = 0;
  uint64_t others = 0;  // taps of pooling windows, and elements made
};

Work device_work(const Step& step) {
  // The cost of moving an element through memory, measured with depthwise 1 x 1 kernels on the
  // software device.
  constexpr int kMacsPerElement = 8;
  Work work;
  if (step.kind != StepKind::kDevice) return work;
  device::for_each_run(step.command, [&](const ConvRun& run, const device::RunWalk& walk) {
    const Dims in = walk.in();
    const Dims conv = device::conv_output(run, in), out = device::run_output(run, in);
    if (run.conv != device::ConvKind::kNone) {
      const int channels = device::is_depthwise(run.conv) ? 1 : in.c;
      work.macs = saturating_sum(
          work.macs,
          saturating_product_of(conv.w, conv.h, run.m, run.kernel.x, run.kernel.y, channels));
    }
    const bool pools = run.pool == device::PoolKind::kMax || run.pool == device::PoolKind::kAverage;
    const int window = pools ? run.pool_size.x * run.pool_size.y : 1;
    work.others = saturating_sum(work.others,
                                 saturating_product_of(out.w, out.h, out.c, pools ? window : 1) +
                                     saturating_product_of(out.w, out.h, out.c, kMacsPerElement));
  });
  return work;
}

layers::Cost cost_of(const Model& model, const Step& step) {
  std::vector<TensorDesc> inputs, outputs;
  for (int i : step.inputs) inputs.push_back(model.tensor(i).desc);
  for (int i : step.outputs) outputs.push_back(model.tensor(i).desc);
  return layers::cost_of(*step.layer, inputs, outputs);
}

// Returns the cost of a CPU step for one frame.
layers::Cost cpu_cost(const Model& model, const Step& step) {
  if (!step.layer || step.outputs.empty()) return {};
  const bool once = model.tensor(step.outputs[0]).storage == Storage::kConstant;
  return once ? layers::Cost() : cost_of(model, step);
}

// Checks the cost of all steps together; each step has been validated by itself.
Status validate_cost(const Model& model) {
  uint64_t device = 0;
  layers::Cost cpu;
  for (const Step& step : model.steps) {
    if (step.kind == StepKind::kDevice) {
      device = saturating_sum(device, step_work(model, step));
    } else {
      cpu += cost_of(model, step);
    }
  }
  BudgetSheet sheet;
  sheet.add(Budget::kIoBytes, model.io_bytes, "the I/O buffer of a frame");
  sheet.add(Budget::kConstantBytes, model.constant_bytes, "constants");
  sheet.add(Budget::kDeviceMacs, device, "multiply-adds of device commands");
  layers::add_cost(cpu, &sheet);
  return sheet.result(
      "; a smaller input (--size) needs less; a higher limit is safe where the machine has the "
      "memory and the time");
}

}  // namespace

Status check_name(const std::string& name) {
  constexpr size_t kShown = 40;
  if (name.size() > kMaxNameBytes) {
    return over_limit("the length of '" + short_text(name, kShown) + "'",
                      static_cast<int64_t>(name.size()), kMaxNameBytes);
  }
  if (is_printable(name)) return {};
  return malformed("'" + short_text(name, kShown) +
                   "' has control characters or is no UTF-8: names are printable");
}

Status validate(const Model& model) {
  const std::pair<const char*, size_t> lists[] = {{"tensors", model.tensors.size()},
                                                  {"steps", model.steps.size()},
                                                  {"outputs", model.outputs.size()},
                                                  {"labels", model.labels.size()}};
  for (const auto& [what, count] : lists) {
    if (count > kMaxListEntries) {
      return over_limit(std::string("the number of ") + what, static_cast<int64_t>(count),
                        kMaxListEntries);
    }
  }
  DVNN_TRY(validate_names(model));
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    if (Status s = validate_tensor(model, model.tensors[i]); !s.ok()) {
      return s.error().within(format("tensor %zu '%s'", i, model.tensors[i].name.c_str()));
    }
  }
  auto is_io_tensor = [&](int index) {
    return has_nth(model.tensors, index) && model.tensor(index).storage == Storage::kIo;
  };
  if (!is_io_tensor(model.input.tensor)) return malformed("the input is not a per-frame tensor");
  DVNN_TRY(validate_extra_inputs(model));
  if (model.outputs.empty()) return malformed("the network has no output");
  for (const OutputInfo& output : model.outputs) {
    if (!has_nth(model.tensors, output.tensor)) {
      return malformed("output '" + output.name + "' names a tensor that does not exist");
    }
  }
  for (size_t i = 0; i < model.steps.size(); ++i) {
    if (Status s = validate_step(model, model.steps[i]); !s.ok()) {
      return s.error().within(format("step %zu '%s'", i, model.steps[i].name.c_str()));
    }
  }
  return validate_cost(model);
}

bool has_states(const Model& model) {
  return std::any_of(model.extra_inputs.begin(), model.extra_inputs.end(),
                     [](const ExtraInput& input) { return input.is_state(); });
}

std::string live_inputs_text(const Model& model) {
  std::string text;
  for (const ExtraInput& input : model.extra_inputs) {
    if (!input.is_state()) text += (text.empty() ? "'" : ", '") + input.name + "'";
  }
  return text;
}

int64_t step_macs(const Model& model, const Step& step) {
  if (step.kind == StepKind::kDevice) return static_cast<int64_t>(device_work(step).macs);
  return static_cast<int64_t>(std::min<uint64_t>(cpu_cost(model, step).macs, INT64_MAX));
}

uint64_t step_work(const Model& model, const Step& step) {
  if (step.kind != StepKind::kDevice) return cpu_cost(model, step).work;
  const Work work = device_work(step);
  return saturating_sum(work.macs, work.others);
}

}  // namespace dvnn::network
