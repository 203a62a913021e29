// SPDX-License-Identifier: Apache-2.0
// Functions of the software device beyond the vendor's interface, for callers that wait for each
// list and have work of their own in between. All are optional: device.h does without them.
#pragma once

#include <cstdint>

#include "dmp_dv.h"

/// Changes when the numbers of functions do; for sources that include
/// kernels/arithmetic/elementwise.h.
#define DVNN_SOFT_FUNCTIONS                                        \
  ((static_cast<uint32_t>(dvnn::kernels::Curve::kTanh) + 1) * 64 + \
   static_cast<uint32_t>(dvnn::kernels::Operation::kSub) + 1)

extern "C" {

/// An operand of a chain's functions.
struct dvnn_soft_operand {
  /// DVNN_SOFT_SUMS: the command's results before they are rounded. DVNN_SOFT_TENSOR: `tensor`,
  /// binary16, as large as the command's output and in its layout. DVNN_SOFT_VALUES: floats.
  int32_t kind;
  int32_t count;        // of `values`: 1, or one for each channel
  const float* values;  // which are copied
  dmp_dv_buf tensor;
};
enum { DVNN_SOFT_SUMS = 0, DVNN_SOFT_TENSOR = 1, DVNN_SOFT_VALUES = 2 };

/// One function of single elements. Operands are numbered: those of the chain, then the results of
/// earlier steps.
struct dvnn_soft_step {
  int32_t combines;  // 0: curve `function` of x, with a and b; 1: operation `function` of x and y
  int32_t function;  // a kernels::Curve or kernels::Operation
  float a, b;
  int32_t x, y;
};

struct dvnn_soft_chain {
  uint32_t size;       // of this struct
  uint32_t functions;  // DVNN_SOFT_FUNCTIONS of the caller: both sides number them alike
  const dvnn_soft_operand* operands;
  const dvnn_soft_step* steps;
  int32_t operand_count, step_count;  // each at least 1, and 24 at most together
  dmp_dv_buf output;  // of the last step's results, as large as the command's output; overlaps no
                      // tensor of the chain
  int32_t keeps_own;  // not 0: the command's output is stored, too
};

/// Appends a chain to the list's last command, which writes its output in one run: the functions
/// are computed from its sums while they are floats, and their results are rounded once. Call it
/// before the list's commit. Returns 0, or EINVAL, ENOTSUP or ENOMEM with the message set and the
/// list unchanged.
int dvnn_soft_follow(dmp_dv_cmdlist list, const dvnn_soft_chain* chain);

/// Does the same as exec() and wait(), but on the calling thread if it can, so that no other thread
/// has to be woken. Writes the time of the first `commands`
/// commands to `command_ns`, in nanoseconds (null: not wanted). Returns 0, or wait()'s error.
int dvnn_soft_run(dmp_dv_cmdlist list, int64_t* command_ns, int commands);

/// Makes a memory that no command uses yet transient: its values last no longer than a command list
/// that writes them. Lists that run at once do not wait for each other because of it, as each has
/// its own bytes in its place. Returns 0, or EINVAL or ENOMEM with the message set.
int dvnn_soft_transient(dmp_dv_mem mem);

/// Calls call(work, i) for i in 0..count-1, each once, on the device's threads and the calling one
/// if the device is idle, else on the calling one alone; returns when all have returned. `call`
/// throws nothing and uses no device.
void dvnn_soft_share(int count, void (*call)(void* work, int i), void* work);
}
