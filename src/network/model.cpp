// SPDX-License-Identifier: Apache-2.0
#include "network/model.h"

#include <algorithm>

#include "base/format.h"
#include "network/model_limits.h"
#include "tensor/tensor_json.h"

namespace dvnn::network {
namespace {

using device::ConvRun;
using device::Dims;
using device::Extent;
using device::Pad;

Error malformed(const std::string& message) {
  return {ErrorCode::kMalformed, message};
}

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
  const uint64_t bytes = static_cast<uint64_t>(tensor.desc.bytes());
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
  } sides[] = {{pad.left, kMaxPadLeftTop},
               {pad.top, kMaxPadLeftTop},
               {pad.right, kMaxPadRightBottom},
               {pad.bottom, kMaxPadRightBottom}};
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
  DVNN_TRY(validate_extent("kernel", run.kernel, kMaxKernel));
  DVNN_TRY(validate_extent("stride", run.stride, kMaxStride));
  DVNN_TRY(validate_extent("dilation", run.dilation, kMaxStride));
  DVNN_TRY(validate_extent("pool size", run.pool_size, kMaxStride));
  DVNN_TRY(validate_extent("pool stride", run.pool_stride, kMaxStride));
  DVNN_TRY(validate_pad("convolution pad", run.conv_pad));
  DVNN_TRY(validate_pad("pool pad", run.pool_pad));
  if (run.m < 1 || run.m > kMaxChannels) return over_limit("output channels", run.m, kMaxChannels);
  if (run.conv != device::ConvKind::kNone) {
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
  if (out.w < 1 || out.h < 1 || out.w > kMaxExtent || out.h > kMaxExtent) {
    return malformed(format("the output is %d x %d pixels, not 1..%d", out.w, out.h, kMaxExtent));
  }
  return {};
}

Status validate_device_step(const Model& model, const Step& step) {
  const auto& cmd = step.command;
  if (step.inputs.empty() || step.inputs.size() != (cmd.eltwise_add ? 2u : 1u) ||
      step.outputs.size() != 1) {
    return malformed("a device step has one input (two with eltwise_add) and one output");
  }
  const TensorInfo& input = model.tensors[static_cast<size_t>(step.inputs[0])];
  const TensorInfo& output = model.tensors[static_cast<size_t>(step.outputs[0])];
  for (int index : {step.inputs[0], step.outputs[0], step.inputs.back()}) {
    const TensorInfo& tensor = model.tensors[static_cast<size_t>(index)];
    if (tensor.storage != Storage::kIo || !is_device_layout(tensor.desc, cmd.hwc)) {
      return malformed("tensor '" + tensor.name + "' is not in the device's layout or memory");
    }
  }
  const Shape& in = input.desc.shape;
  if (in.w() != cmd.w || in.h() != cmd.h || in.c() != cmd.c || cmd.w > kMaxExtent ||
      cmd.h > kMaxExtent || cmd.c > kMaxChannels) {
    return malformed(
        format("the command's input is %d x %d x %d, tensor '%s' is %s, and the "
               "device's limit is %d x %d x %d",
               cmd.w, cmd.h, cmd.c, input.name.c_str(), in.to_string().c_str(), kMaxExtent,
               kMaxExtent, kMaxChannels));
  }
  if (cmd.runs.empty() || cmd.runs.size() > device::kMaxRuns ||
      (cmd.topo >> (cmd.runs.size() - 1)) != 1) {
    return malformed(format("topo 0x%x does not fit %zu runs (1..%zu)", cmd.topo, cmd.runs.size(),
                            device::kMaxRuns));
  }
  int64_t external = 0, eltwise = 0;
  Dims at = {cmd.w, cmd.h, cmd.c};
  for (size_t i = 0; i < cmd.runs.size(); ++i) {
    const ConvRun& run = cmd.runs[i];
    if (Status s = validate_run(model, run, at); !s.ok()) {
      return s.error().within("run " + std::to_string(i));
    }
    const Dims out = device::run_output(run, at);
    const Dims before_pool =
        run.pool == device::PoolKind::kAverage ? out : device::conv_output(run, at);
    const bool to_memory = (cmd.topo >> i) & 1;
    if (to_memory) {
      external += int64_t{out.w} * out.h * out.c;
      eltwise += int64_t{before_pool.w} * before_pool.h * before_pool.c;
    }
    at = to_memory ? Dims{cmd.w, cmd.h, cmd.c} : out;
  }
  if (external != output.desc.shape.elements()) {
    return malformed(format("the runs make %lld elements, tensor '%s' holds %lld",
                            static_cast<long long>(external), output.name.c_str(),
                            static_cast<long long>(output.desc.shape.elements())));
  }
  if (cmd.eltwise_add) {
    const TensorInfo& operand = model.tensors[static_cast<size_t>(step.inputs[1])];
    if (eltwise != operand.desc.shape.elements()) {
      return malformed(format("the sum has %lld elements, operand '%s' holds %lld",
                              static_cast<long long>(eltwise), operand.name.c_str(),
                              static_cast<long long>(operand.desc.shape.elements())));
    }
  }
  return {};
}

Status validate_step(const Model& model, const Step& step) {
  if (step.outputs.empty()) return malformed("a step needs an output");
  for (const auto* list : {&step.inputs, &step.outputs}) {
    for (int index : *list) {
      if (index < 0 || static_cast<size_t>(index) >= model.tensors.size()) {
        return malformed(
            format("tensor %d does not exist (there are %zu)", index, model.tensors.size()));
      }
    }
  }
  if (step.kind == StepKind::kDevice) return validate_device_step(model, step);
  // A constant may only come from constants: it is made before there is a frame.
  auto storage = [&](int i) { return model.tensors[static_cast<size_t>(i)].storage; };
  const bool constant = storage(step.outputs[0]) == Storage::kConstant;
  for (int i : step.outputs) {
    if ((storage(i) == Storage::kConstant) != constant) {
      return malformed("outputs mix constant and per-frame memory");
    }
  }
  for (int i : step.inputs) {
    if (constant && storage(i) != Storage::kConstant) {
      return malformed("a constant step reads per-frame tensor '" +
                       model.tensors[static_cast<size_t>(i)].name + "'");
    }
  }
  return {};
}

}  // namespace

Status validate(const Model& model) {
  if (model.io_bytes > kMaxBufferBytes) {
    return over_limit("io_bytes", static_cast<int64_t>(model.io_bytes), kMaxBufferBytes);
  }
  if (model.constant_bytes > kMaxBufferBytes) {
    return over_limit("constant_bytes", static_cast<int64_t>(model.constant_bytes),
                      kMaxBufferBytes);
  }
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    if (Status s = validate_tensor(model, model.tensors[i]); !s.ok()) {
      return s.error().within(format("tensor %zu '%s'", i, model.tensors[i].name.c_str()));
    }
  }
  auto is_io_tensor = [&](int index) {
    return index >= 0 && static_cast<size_t>(index) < model.tensors.size() &&
           model.tensors[static_cast<size_t>(index)].storage == Storage::kIo;
  };
  if (!is_io_tensor(model.input.tensor)) return malformed("the input is not a per-frame tensor");
  const Shape& in = model.tensors[static_cast<size_t>(model.input.tensor)].desc.shape;
  if (in.rank != 4 || in.n() != 1) {
    return malformed("the input's shape is " + in.to_string() + ", not 1xCxHxW");
  }
  if (model.outputs.empty()) return malformed("the network has no output");
  for (const OutputInfo& output : model.outputs) {
    if (output.tensor < 0 || static_cast<size_t>(output.tensor) >= model.tensors.size()) {
      return malformed("output '" + output.name + "' names a tensor that does not exist");
    }
  }
  for (size_t i = 0; i < model.steps.size(); ++i) {
    if (Status s = validate_step(model, model.steps[i]); !s.ok()) {
      return s.error().within(format("step %zu '%s'", i, model.steps[i].name.c_str()));
    }
  }
  return {};
}

int64_t step_macs(const Step& step) {
  if (step.kind != StepKind::kDevice) return 0;
  const auto& cmd = step.command;
  int64_t macs = 0;
  Dims at = {cmd.w, cmd.h, cmd.c};
  for (size_t i = 0; i < cmd.runs.size(); ++i) {
    const ConvRun& run = cmd.runs[i];
    const Dims conv = device::conv_output(run, at);
    if (run.conv != device::ConvKind::kNone) {
      const bool depthwise = (static_cast<int>(run.conv) & 2) != 0;
      macs +=
          int64_t{conv.w} * conv.h * run.m * run.kernel.x * run.kernel.y * (depthwise ? 1 : at.c);
    }
    at = (cmd.topo >> i) & 1 ? Dims{cmd.w, cmd.h, cmd.c} : device::run_output(run, at);
  }
  return macs;
}

}  // namespace dvnn::network
