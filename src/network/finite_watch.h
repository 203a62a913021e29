// SPDX-License-Identifier: Apache-2.0
// Notices results that are not finite, which would otherwise look as if nothing was found.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "network/network.h"

namespace dvnn::network {

/// Watches the runs of a network. Thread safe.
class FiniteWatch {
 public:
  /// Which runs keep their input until the results are known. Only of these can it be said where
  /// what is not finite begins, as by the end of a run the input is gone.
  enum class Keeps : uint8_t { kFirst, kEvery };
  explicit FiniteWatch(Keeps keeps = Keeps::kFirst) : keeps_(keeps) {}

  /// Runs the slot. If the results are not finite, for the first time, `warning` says so, and where
  /// it begins. While a run whose input is kept is under way, others leave it to that run to tell,
  /// since it alone can say where.
  Status run(Slot* slot, RunTimes* times, std::string* warning);

 private:
  bool begin();
  bool end(bool kept, bool is_finite);

  const Keeps keeps_;
  std::mutex mutex_;
  std::atomic<bool> has_told_{false};  // also read without the mutex: then outputs need no look
  bool is_first_ = true, is_untold_ = false;
  int keeping_ = 0;  // runs under way whose input is kept
};

}  // namespace dvnn::network
