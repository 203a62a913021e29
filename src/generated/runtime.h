// SPDX-License-Identifier: Apache-2.0
// The runtime of a generated network: the device, its memory, its command lists, and its CPU
// layers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "device/device.h"
#include "dmp_network.h"
#include "layers/bound_layer.h"
#include "layers/cpu_layer.h"
#include "layers/workspace.h"

namespace dvnn::generated {

class CpuStep {
 public:
  /// `description` is JSON: "type" and "params" of the layer, its "inputs" and "outputs", each with
  /// "type", "layout", "shape", "storage" (io or constant) and "offset" in bytes.
  static Result<CpuStep> parse(const std::string& description);
  /// Returns how many bytes of constant memory it accesses.
  size_t constant_bytes() const;
  /// Whether it computes constants, and so needs to run only once.
  bool makes_constants() const { return outputs_[0].constant; }
  /// Binds the layer to memory, which must outlive it and not move.
  Status bind(uint8_t* io, size_t io_bytes, uint8_t* constants);
  Status run() { return layer_.run(); }

 private:
  struct Tensor {
    TensorDesc desc;
    bool constant = false;
    size_t offset = 0;
  };
  static Status read_tensors(const Json* list, std::vector<Tensor>* tensors);

  layers::LayerPtr attributes_;  // until bind()
  std::vector<Tensor> inputs_, outputs_;
  layers::BoundLayer layer_;
};

/// Microseconds that one run spent in each block.
struct Times {
  int64_t conv_us = 0, fc_us = 0, cpu_us = 0;
};

class Runtime {
 public:
  /// For a program: opens a device and prints errors to stderr.
  Runtime() = default;
  /// For dvinfer: uses an open device and the weights that another instance has loaded, or null in
  /// the first instance. Errors are kept for error().
  Runtime(std::shared_ptr<device::Device> device, std::shared_ptr<device::Memory> weights)
      : device_(std::move(device)),
        weights_(std::move(weights)),
        hosted_(true),
        weights_loaded_(weights_ != nullptr) {}

  Status reserve(size_t weights_size, size_t io_size);
  Status load_weights(const uint8_t* data, size_t size);
  /// Adds one of our CPU layers as layer `index`.
  Status add_cpu_step(int index, const char* description);
  /// Checks the layers and creates their command lists.
  Status commit(std::vector<fpga_layer>* layers, bool want_outputs);
  Status run(std::vector<fpga_layer>* layers, bool want_outputs, int verbosity, Times* times);

  const device::Device& device() const { return *device_; }
  const std::shared_ptr<device::Memory>& weights() const { return weights_; }
  const device::Memory& io() const { return io_; }
  size_t weights_size() const { return weights_size_; }
  /// Returns whether `status` is success; keeps or prints an error.
  bool succeeded(const Status& status) noexcept;
  /// Runs `work` and returns whether its Status is success. An exception becomes an error that
  /// begins with `what`.
  template <typename Work>
  bool attempt(const char* what, Work&& work) noexcept {
    return succeeded(guarded(what, std::forward<Work>(work)));
  }
  /// Returns the first error.
  const Status& error() const { return error_; }

 private:
  // Layers of one command list, or a single CPU layer.
  struct Stage {
    size_t first = 0, count = 1;
    device::CommandList commands;  // empty: a CPU layer
  };

  Status bind_cpu_steps();
  Status add_device_layer(fpga_layer* layer, size_t index, bool alone);
  Status run_stage(const Stage& stage, std::vector<fpga_layer>* layers, Times* times);

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::Memory> weights_;
  device::Memory io_;
  size_t weights_size_ = 0;
  std::map<size_t, CpuStep> cpu_steps_;  // by index of the layer
  std::vector<uint8_t> constants_;
  layers::Workspace workspace_;
  std::vector<Stage> stages_;
  layer_type last_type_ = LT_INPUT;
  bool hosted_ = false, weights_loaded_ = false;
  Status error_;
};

}  // namespace dvnn::generated
