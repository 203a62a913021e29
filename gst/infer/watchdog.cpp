// SPDX-License-Identifier: Apache-2.0
#include "infer/watchdog.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/format.h"
#include "device/call_watch.h"

namespace dvnn::gst {

Error no_answer(guint watchdog_ms) {
  return {ErrorCode::kDevice,
          format("the device has not answered for %u ms (property watchdog-ms)", watchdog_ms)};
}

bool run_watched(guint watchdog_ms, std::function<void()> work) {
  struct Run {
    std::function<void()> work;
    device::CallWatch calls;
    std::promise<void> ended;
  };
  const auto run = std::make_shared<Run>();
  run->work = std::move(work);
  std::future<void> ended = run->ended.get_future();
  std::thread thread([run] {
    {
      const device::Watched watched(&run->calls);
      run->work();
      run->work = nullptr;  // what it holds may take calls to let go of
    }
    run->ended.set_value();
  });
  constexpr std::chrono::milliseconds kLook{20};
  // Time in which this process was stopped, by a debugger say, is not the device's: a look that
  // comes late counts as one that came in time.
  constexpr int64_t kMostOfLook = 100 * 1000;
  int64_t call = 0, waited_us = 0, looked = now_us();
  while (ended.wait_for(kLook) != std::future_status::ready) {
    const int64_t now = now_us(), spent = std::min(now - looked, kMostOfLook);
    const int64_t before = std::exchange(call, run->calls.since_us());
    waited_us = call != 0 && call == before ? waited_us + spent : 0;
    looked = now;
    if (waited_us <= int64_t{watchdog_ms} * 1000) continue;
    thread.detach();
    return false;
  }
  thread.join();
  return true;
}

}  // namespace dvnn::gst
