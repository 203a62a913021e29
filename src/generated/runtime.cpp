// SPDX-License-Identifier: Apache-2.0
#include "generated/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/format.h"
#include "base/json.h"
#include "generated/layers.h"
#include "layers/attributes.h"
#include "tensor/tensor.h"

namespace dvnn::generated {

Status CpuStep::read_tensors(const Json* list, std::vector<Tensor>* tensors) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  constexpr size_t kMostTensors = 4096;
  if (!list || !list->is_array() || list->size() > kMostTensors) {
    return malformed("the layer's tensors are not listed");
  }
  for (const Json& item : *list) {
    Tensor tensor;
    JsonReader in(item, "a tensor");
    tensor.desc = read_desc(&in);
    tensor.constant = in.text("storage") == "constant";
    tensor.offset = static_cast<size_t>(in.integer("offset", 0, kMostBytes));
    DVNN_TRY(in.status());
    if (tensor.offset % element_size(tensor.desc.type) != 0) {
      return malformed(format("offset %zu is not aligned", tensor.offset));
    }
    tensors->push_back(tensor);
  }
  return {};
}

Result<CpuStep> CpuStep::parse(const std::string& description) {
  DVNN_ASSIGN(auto json, parse_json(description, "the layer's description"));
  CpuStep step;
  JsonReader in(json, "the layer");
  const std::string type = in.text("type");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(step.attributes_, layers::read_layer(type, in.member("params")));
  DVNN_TRY(read_tensors(in.member("inputs"), &step.inputs_));
  DVNN_TRY(read_tensors(in.member("outputs"), &step.outputs_));
  if (step.outputs_.empty()) return malformed("the layer has no output");
  return step;
}

size_t CpuStep::constant_bytes() const {
  size_t bytes = 0;
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const Tensor& t : *list) {
      if (t.constant) bytes = std::max(bytes, t.offset + t.desc.bytes());
    }
  }
  return bytes;
}

Status CpuStep::bind(uint8_t* io, size_t io_bytes, uint8_t* constants) {
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const Tensor& t : *list) {
      const size_t end = t.offset + t.desc.bytes();
      if (!t.constant && end > io_bytes) {
        return malformed(
            format("a tensor ends at byte %zu of an I/O buffer of %zu", end, io_bytes));
      }
    }
  }
  auto data = [&](const Tensor& t) { return (t.constant ? constants : io) + t.offset; };
  for (const Tensor& t : inputs_) layer_.add_input({t.desc, data(t)});
  for (const Tensor& t : outputs_) layer_.add_output({t.desc, data(t)});
  DVNN_TRY(layer_.create(*attributes_));
  attributes_.reset();
  return {};
}

namespace {

bool is_device_layer(const fpga_layer& layer) {
  return layer.type == LT_CONV || layer.type == LT_FC;
}

// Both structures begin with the header that tells which one it is.
const dmp_dv_cmdraw& command_of(const fpga_layer& layer) {
  return layer.type == LT_FC ? layer.fc_conf.header : layer.conv_conf.header;
}

Status check_command(const fpga_layer& layer) {
  const dmp_dv_cmdraw& header = command_of(layer);
  const bool fc = layer.type == LT_FC;
  const size_t size = fc                    ? sizeof layer.fc_conf
                      : header.version == 0 ? sizeof layer.conv_conf
                                            : sizeof layer.conv_conf_v1;
  if (header.size == size && header.version <= (fc ? 0 : 1) &&
      header.device_type == (fc ? DMP_DV_DEV_FC : DMP_DV_DEV_CONV)) {
    return {};
  }
  return malformed(
      format("its command is of type %d, version %d, %u bytes, which is unknown: made for another "
             "generation of the runtime?",
             header.device_type, header.version, header.size));
}

void keep_output(fpga_layer* layer, const uint8_t* io, size_t io_size) {
  const size_t bytes =
      std::min(layer->output_size, io_size - std::min(io_size, layer->output_offs));
  layer->output.resize(bytes / sizeof(__fp16));
  std::memcpy(layer->output.data(), io + layer->output_offs, layer->output.size() * sizeof(__fp16));
}

}  // namespace

bool Runtime::succeeded(const Status& status) noexcept {
  if (status.ok()) return true;
  if (!hosted_) std::fprintf(stderr, "dmp_network: %s\n", status.error().message.c_str());
  if (error_.ok()) {
    error_ = guarded("keeping an error", [&] { return Status(status); });
  }
  return false;
}

Status Runtime::reserve(size_t weights_size, size_t io_size) {
  constexpr size_t kMost = size_t{1} << 30;
  if (io_) return invalid_argument("ReserveMemory() is called twice");
  if (weights_size > kMost || io_size > kMost || io_size == 0) {
    return too_large(
        format("%zu bytes of weights and %zu of I/O are not 1..%zu", weights_size, io_size, kMost));
  }
  if (!device_) {
    DVNN_ASSIGN(device_, device::Device::open(""));
  }
  if (!weights_) {
    DVNN_ASSIGN(auto memory, device_->allocate(std::max<size_t>(weights_size, 16)));
    weights_ = std::make_shared<device::Memory>(std::move(memory));
  }
  weights_size_ = weights_size;
  DVNN_ASSIGN(io_, device_->allocate(io_size));
  std::memset(io_.data(), 0, io_size);  // layers may read bytes that no layer writes
  return {};
}

Status Runtime::load_weights(const uint8_t* data, size_t size) {
  if (!weights_) return invalid_argument("Initialize() must be called first");
  if (size != weights_size_) {
    return malformed(
        format("holds %zu bytes of weights, the network has %zu", size, weights_size_));
  }
  if (!weights_->data()) return invalid_argument("LoadWeights() is called twice");
  if (size > 0) {
    std::memcpy(weights_->data(), data, size);
    DVNN_TRY(weights_->to_device(0, size));
  }
  weights_->unmap();
  weights_loaded_ = true;
  return {};
}

Status Runtime::add_cpu_step(int index, const char* description) {
  DVNN_ASSIGN(CpuStep step, CpuStep::parse(description));
  cpu_steps_.insert_or_assign(static_cast<size_t>(index), std::move(step));
  return {};
}

Status Runtime::bind_cpu_steps() {
  size_t bytes = 0;
  for (const auto& [index, step] : cpu_steps_) bytes = std::max(bytes, step.constant_bytes());
  constants_.assign(bytes, 0);
  for (auto& [index, step] : cpu_steps_) {
    Status status = step.bind(io_.data(), io_.size(), constants_.data());
    if (status.ok() && step.makes_constants()) status = step.run();
    if (!status.ok()) return status.error().within("layer " + std::to_string(index));
  }
  return {};
}

Status Runtime::add_device_layer(fpga_layer* layer, size_t index, bool alone) {
  DVNN_TRY(check_command(*layer));
  if (stages_.empty() || !stages_.back().commands || last_type_ != layer->type || alone) {
    Stage stage;
    stage.first = index;
    stage.count = 0;
    DVNN_ASSIGN(stage.commands, device_->create_command_list());
    stages_.push_back(std::move(stage));
  }
  ++stages_.back().count;
  return stages_.back().commands.add_raw(command_of(*layer));
}

Status Runtime::commit(std::vector<fpga_layer>* layers, bool want_outputs) {
  if (!io_) return invalid_argument("Initialize() must be called first");
  if (!stages_.empty()) return invalid_argument("Commit() is called twice");
  if (layers->empty()) return malformed("the network has no layers");
  DVNN_TRY(bind_cpu_steps());
  for (size_t i = 0; i < layers->size(); ++i) {
    fpga_layer& layer = (*layers)[i];
    Status status;
    if (is_device_layer(layer)) {
      status = add_device_layer(&layer, i, want_outputs);
    } else {
      if (layer.type != LT_CPU) {
        status = check_cpu_layer(layer, io_.size());
      } else if (cpu_steps_.count(i) == 0) {
        status = malformed("set_cpu_layer() was not called");
      }
      Stage stage;
      stage.first = i;
      stages_.push_back(std::move(stage));
    }
    if (!status.ok()) {
      return status.error().within(format("layer %zu '%s'", i, layer.name.c_str()));
    }
    last_type_ = layer.type;
  }
  for (const Stage& stage : stages_) {
    if (!stage.commands) continue;
    DVNN_TRY(const_cast<device::CommandList&>(stage.commands).commit());
    for (size_t i = 0; i < stage.count; ++i) {
      fpga_layer& layer = (*layers)[stage.first + i];
      layer.cmdlist = static_cast<dmp_dv_cmdlist>(stage.commands.handle());
      layer.cmdlist_pos = static_cast<int>(i);
      layer.cmdlist_size = static_cast<int>(stage.count);
    }
  }
  return {};
}

Status Runtime::run_stage(const Stage& stage, std::vector<fpga_layer>* layers, Times* times) {
  fpga_layer& layer = (*layers)[stage.first];
  const int64_t start = now_us();
  if (stage.commands) {
    DVNN_TRY(io_.to_device(0, io_.size()));
    DVNN_TRY(stage.commands.run());
    DVNN_TRY(io_.to_cpu(0, io_.size()));
    (layer.type == LT_FC ? times->fc_us : times->conv_us) += now_us() - start;
  } else {
    const layers::Workspace::Loan loan(&workspace_);
    const SharedThreads threads(device_->share());
    if (layer.type == LT_CPU) {
      CpuStep& step = cpu_steps_.at(stage.first);
      if (!step.makes_constants()) DVNN_TRY(step.run());
    } else {
      DVNN_TRY(run_cpu_layer(&layer, io_.data()));
    }
    times->cpu_us += now_us() - start;
  }
  return {};
}

Status Runtime::run(std::vector<fpga_layer>* layers, bool want_outputs, int verbosity,
                    Times* times) {
  if (stages_.empty()) return invalid_argument("Commit() must be called first");
  if (!weights_loaded_ && weights_size_ > 0) {
    return invalid_argument("LoadWeights() must be called first");
  }
  Times spent;
  for (const Stage& stage : stages_) {
    fpga_layer& layer = (*layers)[stage.first];
    const Times before = spent;
    if (Status s = run_stage(stage, layers, &spent); !s.ok()) {
      return s.error().within("layer '" + layer.name + "'");
    }
    if (want_outputs) keep_output(&layer, io_.data(), io_.size());
    if (verbosity > 1) {
      const int64_t us = spent.conv_us - before.conv_us + spent.fc_us - before.fc_us +
                         spent.cpu_us - before.cpu_us;
      std::printf("%zu layer(s) from '%s': %lld us\n", stage.count, layer.name.c_str(),
                  static_cast<long long>(us));
    }
  }
  *times = spent;
  return {};
}

}  // namespace dvnn::generated
