// SPDX-License-Identifier: Apache-2.0
// Functions of the software device beyond the vendor's interface, for callers that wait for each
// list and have work of their own in between. Both are optional: device.h does without them.
#pragma once

#include <cstdint>

#include "dmp_dv.h"

extern "C" {

/// Does what exec() and wait() do, in the order of submission among all lists, but on the calling
/// thread: no other thread has to be woken and waited for. Leaves the time of the first `commands`
/// commands in `command_ns`, in nanoseconds (null: nobody asks). Returns 0, or what wait() would.
int dvnn_soft_run(dmp_dv_cmdlist list, int64_t* command_ns, int commands);

/// Calls call(work, i) for i in 0..count-1, each once, on the device's threads and the calling one
/// if the device is idle, else on the calling one alone; returns when all have returned. `call`
/// throws nothing and uses no device.
void dvnn_soft_share(int count, void (*call)(void* work, int i), void* work);
}
