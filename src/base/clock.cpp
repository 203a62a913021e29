// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace dvnn {
namespace {

class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
  bool wait_until(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                  Time end) const override {
    return changed->wait_until(*lock, end) == std::cv_status::no_timeout;
  }
};

}  // namespace

const Clock& Clock::steady() {
  static const SteadyClock clock;
  return clock;
}

}  // namespace dvnn
