// SPDX-License-Identifier: Apache-2.0
#include "dmp_network.h"

#include <cstdio>
#include <mutex>

#include "base/file.h"
#include "base/format.h"
#include "base/nth.h"
#include "generated/access.h"
#include "generated/layers.h"
#include "tensor/half.h"

using dvnn::invalid_argument;
using dvnn::malformed;
using dvnn::Status;
using dvnn::generated::Access;
using dvnn::generated::Runtime;

fpga_layer::fpga_layer()
    : type(LT_INPUT),
      conv_conf_v1(),
      input_offs(0),
      output_offs(0),
      output_size(0),
      input_dim(),
      input_dim_size(0),
      output_dim(),
      output_dim_size(0),
      is_output(false),
      is_f32_output(false),
      is_input_hw_layout(false),
      cmdlist(nullptr),
      cmdlist_pos(0),
      cmdlist_size(0),
      is_hwc(false) {}

CDMP_Network::CDMP_Network()
    : num_layers_(0),
      num_output_layers_(0),
      ctx_(nullptr),
      dv_info_(),
      weights_mem_(nullptr),
      io_mem_(nullptr),
      io_ptr_(nullptr),
      last_conv_usec_(0),
      last_fc_usec_(0),
      last_cpu_usec_(0),
      is_weight_transposed(false),
      committed_(false),
      is_referred_to_(false),
      iprint_(0),
      want_layer_outputs_(false),
      runtime_(std::make_unique<Runtime>()) {}

// Generated code keeps the addresses of copying layers' inputs in a static list, which the first
// instance fills for all later ones, so its layers must outlive it.
CDMP_Network::~CDMP_Network() {
  if (!is_referred_to_) return;
  static std::mutex mutex;
  static std::vector<std::vector<fpga_layer>> kept;
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(layers_));
}

fpga_layer& CDMP_Network::get_layer(int i) {
  if (dvnn::has_nth(layers_, i)) return dvnn::nth(layers_, i);
  runtime_->attempt("looking for a layer", [&]() -> Status {
    return malformed(dvnn::format("layer %d does not exist (there are %d)", i, num_layers_));
  });
  static fpga_layer nobody;
  nobody = fpga_layer();
  return nobody;
}

void CDMP_Network::set_num_layers(int n) {
  constexpr int kMost = 65536;
  if (!layers_.empty() || n < 1 || n > kMost) {
    runtime_->succeeded(
        malformed(dvnn::format("set_num_layers(%d): called twice, or not 1..%d", n, kMost)));
    return;
  }
  const bool made = runtime_->attempt("making the layers", [&]() -> Status {
    layers_.resize(static_cast<size_t>(n));
    return {};
  });
  if (made) num_layers_ = n;
}

void CDMP_Network::set_num_output_layers(int n) {
  if (!output_layers_.empty() || n < 1 || n > num_layers_) {
    runtime_->succeeded(malformed(
        dvnn::format("set_num_output_layers(%d): called twice, or not 1..%d", n, num_layers_)));
    return;
  }
  const bool made = runtime_->attempt("making the list of outputs", [&]() -> Status {
    output_layers_.resize(static_cast<size_t>(n));
    return {};
  });
  if (made) num_output_layers_ = n;
}

void CDMP_Network::set_cpu_layer(int i, const char* description) {
  fpga_layer& layer = get_layer(i);
  layer.type = LT_CPU;
  runtime_->attempt("describing a layer", [&]() -> Status {
    const Status s = runtime_->add_cpu_step(i, description);
    return s.ok() ? s : Status(s.error().within("layer '" + layer.name + "'"));
  });
}

bool CDMP_Network::ReserveMemory(size_t weights_size, size_t io_size) {
  if (!runtime_->attempt("reserving memory",
                         [&] { return runtime_->reserve(weights_size, io_size); })) {
    return false;
  }
  const dvnn::device::Info& info = runtime_->device().info();
  dv_info_.header.size = sizeof dv_info_;
  dv_info_.ub_size = info.ub_size;
  dv_info_.max_kernel_size = info.max_kernel_size;
  dv_info_.conv_freq = info.conv_freq;
  dv_info_.fc_freq = info.fc_freq;
  dv_info_.max_fc_vector_size = info.max_fc_vector_size;
  ctx_ = static_cast<dmp_dv_context>(runtime_->device().context());
  weights_mem_ = static_cast<dmp_dv_mem>(runtime_->weights()->handle());
  io_mem_ = static_cast<dmp_dv_mem>(runtime_->io().handle());
  io_ptr_ = runtime_->io().data();
  if (iprint_ > 0) std::printf("%zu bytes of weights, %zu of I/O\n", weights_size, io_size);
  return true;
}

static Status load_weights(const std::string& filename, Runtime* runtime) {
  const auto bytes = dvnn::read_file(filename, runtime->weights_size());
  if (!bytes.ok()) return bytes.error().within("weights file");
  const Status status = runtime->load_weights(
      reinterpret_cast<const uint8_t*>(bytes.value().data()), bytes.value().size());
  if (status.ok()) return {};
  return status.error().within("weights file '" + filename + "'");
}

bool CDMP_Network::LoadWeights(const std::string& filename) {
  return runtime_->attempt("loading the weights",
                           [&] { return load_weights(filename, runtime_.get()); });
}

bool CDMP_Network::GenerateCommandLists() {
  return runtime_->attempt("making command lists", [&] { return Access::make_lists(this); });
}

Status Access::make_lists(CDMP_Network* network) {
  CDMP_Network& n = *network;
  // Generated code of the first generation calls this from Initialize(), and its programs do not
  // call Commit().
  if (n.committed_) return invalid_argument("Commit() is called twice");
  for (fpga_layer& layer : n.layers_) {
    const auto& conv =
        layer.conv_conf.header.version == 0 ? layer.conv_conf : layer.conv_conf_v1.conv_cmd;
    if (layer.type == LT_CONV) n.is_weight_transposed |= (conv.input_circular_offset & 0x8000) != 0;
  }
  for (fpga_layer& layer : n.layers_) {
    layer.is_hwc = n.is_weight_transposed;
    if (layer.type != LT_COPY_CONCAT || layer.input_layer_num < 1 || !layer.input_layers) continue;
    const fpga_layer* input = layer.input_layers[0];
    n.is_referred_to_ |= input >= n.layers_.data() && input < n.layers_.data() + n.layers_.size();
  }
  for (size_t i = 0; i < n.output_layers_.size(); ++i) {
    if (n.output_layers_[i]) continue;
    return malformed(dvnn::format("output %zu is not set", i));
  }
  DVNN_TRY(n.runtime_->commit(&n.layers_, n.want_layer_outputs_));
  for (const fpga_layer& layer : n.layers_) {
    if (layer.cmdlist && layer.cmdlist_pos == 0) n.cmdlists_.push_back(layer.cmdlist);
  }
  n.committed_ = true;
  return {};
}

bool CDMP_Network::Commit() {
  return GenerateCommandLists();
}

bool CDMP_Network::RunNetwork() {
  dvnn::generated::Times times;
  if (!runtime_->attempt("running the network", [&] {
        return runtime_->run(&layers_, want_layer_outputs_, iprint_, &times);
      })) {
    return false;
  }
  last_conv_usec_ = static_cast<int>(times.conv_us);
  last_fc_usec_ = static_cast<int>(times.fc_us);
  last_cpu_usec_ = static_cast<int>(times.cpu_us);
  return true;
}

void* CDMP_Network::get_network_input_addr_cpu() {
  if (!io_ptr_ || layers_.empty()) return nullptr;
  return io_ptr_ + layers_[0].input_offs;
}

void CDMP_Network::get_final_output(std::vector<float>& output, int i_output) {
  output.clear();
  if (i_output < 0 || i_output >= num_output_layers_ || !committed_) {
    runtime_->succeeded(invalid_argument(
        dvnn::format("output %d does not exist (there are %d), or Commit() was not called",
                     i_output, num_output_layers_)));
    return;
  }
  const fpga_layer& layer = *dvnn::nth(output_layers_, i_output);
  const size_t io = runtime_->io().size();
  const size_t bytes = std::min(layer.output_size, io - std::min(io, layer.output_offs));
  const uint8_t* from = io_ptr_ + layer.output_offs;
  const size_t count = bytes / (layer.is_f32_output ? sizeof(float) : sizeof(dvnn::half_t));
  if (!runtime_->attempt("reading an output", [&]() -> Status {
        output.resize(count);
        return {};
      })) {
    return;
  }
  if (layer.is_f32_output) {
    std::memcpy(output.data(), from, output.size() * sizeof(float));
  } else {
    dvnn::half_to_float(reinterpret_cast<const dvnn::half_t*>(from), output.data(), output.size());
  }
}

// --- dvinfer -----------------------------------------------------------------------------------

namespace dvnn::generated {

Status Access::initialize(CDMP_Network* network, std::shared_ptr<device::Device> device,
                          std::shared_ptr<device::Memory> weights) {
  network->runtime_ = std::make_unique<Runtime>(std::move(device), std::move(weights));
  const bool done = network->Initialize();
  if (!network->runtime_->error().ok()) return network->runtime_->error();
  if (done) return {};
  return Error{ErrorCode::kDevice, "Initialize() fails and gives no reason"};
}

Status Access::load_weights(CDMP_Network* network, const uint8_t* data, size_t size) {
  return network->runtime_->load_weights(data, size);
}

Status Access::commit(CDMP_Network* network) {
  if (network->committed_ || network->Commit()) return {};
  return network->runtime_->error();
}

Status Access::run(CDMP_Network* network, Times* times) {
  return network->runtime_->run(&network->layers_, false, 0, times);
}

const Runtime& Access::runtime(const CDMP_Network& network) {
  return *network.runtime_;
}

const std::vector<fpga_layer>& Access::layers(const CDMP_Network& network) {
  return network.layers_;
}

const std::vector<fpga_layer*>& Access::outputs(const CDMP_Network& network) {
  return network.output_layers_;
}

}  // namespace dvnn::generated
