// SPDX-License-Identifier: Apache-2.0
// Ending work that takes long, from another thread: who asked for the work keeps the Cancellation,
// and the work looks at it for every node, step or slot, so that it ends within a moment.
#pragma once

#include <atomic>

#include "base/result.h"

namespace dvnn {

class Cancellation {
 public:
  void cancel() { cancelled_ = true; }
  bool is_cancelled() const { return cancelled_; }

 private:
  std::atomic<bool> cancelled_{false};
};

/// kCancelled once `cancellation` is; null is never.
inline Status check_cancelled(const Cancellation* cancellation) {
  if (!cancellation || !cancellation->is_cancelled()) return {};
  return Error{ErrorCode::kCancelled, "cancelled"};
}

}  // namespace dvnn
