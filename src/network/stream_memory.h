// SPDX-License-Identifier: Apache-2.0
// What one stream keeps for its network: the states, which each run takes from the one before. It
// lies apart from the slots, so that each frame may run in another slot, and a slot may go.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "network/network.h"

namespace dvnn::network {

/// The states of one stream, all zeros at first. Runs of a stream come one after the other, but any
/// thread may call it: a run that was given up may end while a later one is under way, and its
/// states are not taken then.
class StreamMemory {
 public:
  explicit StreamMemory(std::shared_ptr<Network> network);

  /// Makes all states zeros, as before the first frame.
  void begin_anew();
  /// Copies the states to the slot, and returns the run's number.
  uint64_t begin_run(Slot* slot);
  /// Takes the states that the run of that number has left in the slot, unless another one has
  /// begun since, or the stream has begun anew. States that are not finite would never be finite
  /// again, so they begin anew.
  void end_run(const Slot& slot, uint64_t run);
  /// Copies the states to the slot, for a run that leaves none.
  void fill(Slot* slot) const;
  /// Returns the bytes of the states, which each run copies twice.
  size_t state_bytes() const;

 private:
  void copy_to(Slot* slot) const;
  void clear_states();
  const Model& model() const { return network_->model(); }

  const std::shared_ptr<Network> network_;
  mutable std::mutex mutex_;
  // As the slot has them, in the order of Model::extra_inputs; empty for live inputs.
  std::vector<std::vector<uint8_t>> values_;
  std::vector<float> scratch_;
  uint64_t runs_ = 0;
};

}  // namespace dvnn::network
