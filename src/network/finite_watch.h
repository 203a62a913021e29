// SPDX-License-Identifier: Apache-2.0
// Notices results that are not finite, which would otherwise look as if nothing was found.
#pragma once

#include <atomic>
#include <string>

#include "network/network.h"

namespace dvnn::network {

/// Watches the runs of a network. Thread safe.
class FiniteWatch {
 public:
  /// Of which runs the input is kept until the results are known. Only of these can it be said
  /// where what is not finite begins, as by the end of a run the input is gone.
  enum class Keeps : uint8_t { kFirst, kEvery };
  explicit FiniteWatch(Keeps keeps = Keeps::kFirst) : keeps_(keeps) {}

  /// Runs the slot. If the results are not finite, for the first time, `warning` says so, and where
  /// it begins.
  Status run(Slot* slot, RunTimes* times, std::string* warning);

 private:
  const Keeps keeps_;
  std::atomic<bool> is_first_{true}, has_told_{false};
};

}  // namespace dvnn::network
