// SPDX-License-Identifier: Apache-2.0
// Notices results that are not finite, which would otherwise look as if nothing was found.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "network/network.h"
#include "network/stream_memory.h"

namespace dvnn::network {

/// Watches the runs of a network. Thread safe.
class FiniteWatch {
 public:
  /// Which runs keep their input until the results are known. Only for these can the layer be named
  /// at which values stop being finite, because other runs overwrite their input.
  enum class Keeps : uint8_t { kFirst, kEvery };
  explicit FiniteWatch(Keeps keeps = Keeps::kFirst) : keeps_(keeps) {}

  /// Runs the slot. When results are not finite for the first time, sets `warning`, which names the
  /// layer where that begins if it is known. While a run with a kept input is under way, others
  /// leave the report to it, because only it can name the layer.
  /// `memory` has the states of the slot's stream, and takes them after the run. `live` may be null
  /// for a network without live inputs.
  Status run(Slot* slot, StreamMemory* memory, RunTimes* times, std::string* warning,
             const LiveInputs* live = nullptr);

 private:
  struct Inputs {
    const StreamMemory& memory;
    const LiveInputs* live;
    void fill(Slot* slot) const;
  };
  Status run_watched(Slot* slot, const Inputs& inputs, RunTimes* times, std::string* warning);
  bool begin();
  bool end(bool kept, bool is_finite);

  const Keeps keeps_;
  std::mutex mutex_;
  std::atomic<bool> has_told_{false};  // also read without the mutex: then outputs need no look
  bool is_first_ = true, is_untold_ = false;
  int keeping_ = 0;  // runs under way whose input is kept
};

}  // namespace dvnn::network
