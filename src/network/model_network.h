// SPDX-License-Identifier: Apache-2.0
// The network that a Model describes: steps over device memory. Private to src/network.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "network/network.h"

namespace dvnn::network {

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
  // For what lives within one command list, of all slots; made for the first one.
  std::mutex transient_mutex_;
  device::Memory transient_;
  std::vector<uint8_t> constants_;
};

}  // namespace dvnn::network
