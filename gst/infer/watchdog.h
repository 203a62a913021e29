// SPDX-License-Identifier: Apache-2.0
// dvinfer's watchdog over what calls the device outside of its workers: loading, making slots,
// letting go of them.
#pragma once

#include <glib.h>

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "base/result.h"

namespace dvnn::gst {

/// The error of a device that does not answer.
Error no_answer(guint watchdog_ms);

/// Runs `work` in a thread of its own until it has returned. False once it has been in one call of
/// the device for longer than `watchdog_ms`: the thread is then left behind, and lets go of what
/// `work` holds if it ever returns.
bool run_watched(guint watchdog_ms, std::function<void()> work);

/// Returns the result of `work`, or no_answer(). Without a limit (0) it runs in this thread. It
/// owns what it uses.
template <typename T>
Result<T> within_watchdog(guint watchdog_ms, std::function<Result<T>()> work) {
  if (watchdog_ms == 0) return work();
  auto task = std::make_shared<std::packaged_task<Result<T>()>>(std::move(work));
  std::future<Result<T>> result = task->get_future();
  const bool answered = run_watched(watchdog_ms, [task = std::move(task)] { (*task)(); });
  if (!answered) return no_answer(watchdog_ms);
  return result.get();
}

}  // namespace dvnn::gst
