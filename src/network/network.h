// SPDX-License-Identifier: Apache-2.0
// A network on a device (shared, immutable) and its slots (one frame in flight each).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "network/model.h"

namespace dvnn::network {

/// Where the time of one run went, microseconds.
struct RunTimes {
  int64_t device_us = 0;
  int64_t cpu_us = 0;
};

class Slot;

/// A model with its weights in device memory. Thread safe.
class Network : public std::enable_shared_from_this<Network> {
 public:
  /// Loads `path` on the device that `device_selector` names (device.h). Callers with the same file
  /// and device share one Network as long as any of them keeps it.
  static Result<std::shared_ptr<Network>> load(const std::string& path,
                                               const std::string& device_selector);
  static Result<std::shared_ptr<Network>> create(Model model, std::shared_ptr<device::Device> dev);
  ~Network();

  const Model& model() const { return model_; }
  const device::Device& device() const { return *device_; }
  const TensorDesc& input_desc() const { return model_.tensors[model_.input.tensor].desc; }
  /// A new slot: an I/O buffer and committed command lists.
  Result<std::unique_ptr<Slot>> create_slot();

 private:
  friend class Slot;
  Network() = default;
  Status run_once_layers();
  bool is_constant(const Step& step) const;  // made once at load, not per frame
  Model model_;
  std::shared_ptr<device::Device> device_;
  device::Memory weights_;
  std::vector<uint8_t> constants_;
};

/// One I/O buffer and everything needed to run the network in it. One thread at a time.
class Slot {
 public:
  ~Slot();
  /// The input tensor's bytes, mapped, to be written before run().
  Span<uint8_t> input() const;
  /// Runs all steps and waits. On error the slot stays usable.
  Status run(RunTimes* times = nullptr);
  /// Output i of the model, valid until the next run().
  ConstTensorView output(size_t i) const;
  const std::shared_ptr<Network>& network() const;

 private:
  friend class Network;
  Slot();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dvnn::network
