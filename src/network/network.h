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

/// What is put into a slot's input.
enum class InputKind : uint8_t {
  kTensor,  // the network's input tensor
  kPixels,  // 8-bit pixels in the same order, of which the device makes the tensor
};

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
  /// Whether slots take InputKind::kPixels: the device must have a table for them, and only
  /// convolutions may read the input, of three channels.
  /// The table is what the model's picture asks for: the result is the same to the last bit.
  bool takes_pixels() const { return static_cast<bool>(pixel_table_); }
  /// A new slot: an I/O buffer and committed command lists.
  Result<std::unique_ptr<Slot>> create_slot();

 private:
  friend class Slot;
  Network() = default;
  Status run_once_layers();
  bool is_constant(const Step& step) const;  // made once at load, not per frame
  bool reads_input(const Step& step) const;
  bool could_read_pixels() const;
  Status make_pixel_table();
  Model model_;
  std::shared_ptr<device::Device> device_;
  device::Memory weights_;
  device::Memory pixel_table_;
  std::vector<uint8_t> constants_;
};

/// One I/O buffer and everything needed to run the network in it. One thread at a time.
class Slot {
 public:
  ~Slot();
  /// The input tensor's bytes, mapped, to be written before run().
  Span<uint8_t> input() const;
  /// What input() holds from now on (at first: a tensor); kPixels only if the network takes them.
  void set_input_kind(InputKind kind);
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
