// SPDX-License-Identifier: Apache-2.0
// Lets one thread end another thread's long work. The caller of the work owns the Cancellation; the
// work checks it at every node, step or slot, so that it ends within a moment.
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

/// Returns kCancelled once `cancellation` is cancelled; a null one never is.
inline Status check_cancelled(const Cancellation* cancellation) {
  if (!cancellation || !cancellation->is_cancelled()) return {};
  return Error{ErrorCode::kCancelled, "cancelled"};
}

}  // namespace dvnn
