// SPDX-License-Identifier: Apache-2.0
// The device's queues, one per block: command lists run in the order of submission, across all
// lists and contexts of the process, on worker threads or on the thread that waits for them. Lists
// that are independent of all before them may run at once. Blocks run beside one another. Ids count
// from 1, per block.
#pragma once

#include <cstdint>

#include "base/span.h"
#include "device/estimate.h"
#include "dmp_dv.h"

namespace dvnn::softdv {

/// Queues a committed list, which must stay alive until it has run; returns the execution's id.
int64_t submit(dmp_dv_cmdlist list);

/// Runs a committed list on this thread when its turn comes, and leaves the time of each command in
/// `command_ns`, as far as it goes, nanoseconds. Returns what wait_for() does.
int64_t run_here(dmp_dv_cmdlist list, Span<int64_t> command_ns);

/// Calls call(work, i) for i in 0..count-1 on the convolution block's threads if the block is idle,
/// else on this thread.
void share_threads(int count, void (*call)(void* work, int i), void* work);

/// Waits until execution `id` of that block and all before it have run. Returns its time in
/// microseconds (0 if it is older than the last 64), kNeverGiven if there was no such execution, or
/// kFailed if its list ended for lack of memory.
int64_t wait_for(int device_type, int64_t id);
constexpr int64_t kNeverGiven = -1, kFailed = -2;

/// The hardware whose pace the device keeps, from $DVNN_SOFT_PACE ("1", or a string for
/// parse_hardware()); null if the device runs as fast as it can. An error if the variable is
/// invalid.
Result<const device::Hardware*> pace();

/// Returns how many threads a command may use: $DVNN_SOFT_THREADS, or all processors.
int thread_count();

/// Returns how many lists the convolution block runs at once, each on one thread, if that many are
/// independent: as many as a command may use threads, but one if the device keeps a pace.
int lanes();

}  // namespace dvnn::softdv
