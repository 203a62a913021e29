// SPDX-License-Identifier: Apache-2.0
// The network that a Model describes: steps over device memory. Private to src/network.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned.h"
#include "layers/workspace.h"
#include "network/network.h"

namespace dvnn::network {

/// What CPU layers need while they run and no later command reads. A run borrows it from one
/// command list to the next, so there are as many as runs have computed layers at once.
struct LayersMemory {
  AlignedVector<uint8_t> tensors;
  layers::Workspace workspace;
  std::unique_ptr<LayersMemory> next;  // another one that no run has
};

class ModelNetwork final : public Network {
 public:
  static Result<std::shared_ptr<Network>> create(Model model, std::shared_ptr<device::Device> dev,
                                                 const Cancellation* cancellation,
                                                 std::shared_ptr<const layers::CustomLibrary>);
  bool takes_pixels() const override { return static_cast<bool>(pixel_table_); }

  // The following serve slots.
  const device::Memory& weights() const { return weights_; }
  const device::Memory& pixel_table() const { return pixel_table_; }
  const layers::CustomLibrary* library() const { return library_.get(); }
  uint8_t* constants() { return constants_.data(); }
  device::Device& writable_device() { return *device_; }
  bool is_constant(const Step& step) const;  // made once at load, not per frame
  bool reads_input(const Step& step) const;
  struct Return {
    ModelNetwork* to;
    void operator()(LayersMemory* memory) const noexcept;
  };
  /// Lends memory whose `tensors` are `bytes` long, the same for all slots.
  std::unique_ptr<LayersMemory, Return> borrow_layers_memory(uint64_t bytes);

 private:
  using Network::Network;
  Result<std::unique_ptr<Slot>> make_slot(const Cancellation* cancellation) override;
  Status run_once_layers(const Cancellation* cancellation);
  bool could_read_pixels() const;
  Status make_pixel_table();
  Result<const device::Memory*> transient_memory(uint64_t bytes);
  std::shared_ptr<const layers::CustomLibrary> library_;  // null: the model has built-in layers
  device::Memory weights_;
  device::Memory pixel_table_;
  std::mutex shared_mutex_;
  device::Memory transient_;            // Life::kCommandList, of all slots; made for the first one
  std::unique_ptr<LayersMemory> idle_;  // the one that was used last, and so on
  std::vector<uint8_t> constants_;
};

}  // namespace dvnn::network
