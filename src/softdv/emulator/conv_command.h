// SPDX-License-Identifier: Apache-2.0
// A decoded and checked convolution command: the validator makes it, the plan runs it.
#pragma once

#include <memory>
#include <vector>

#include "softdv/emulator/checks.h"
#include "softdv/engine/finish/chain.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

struct SoftRun : Run {
  Bytes weights;          // mem null if the run has no convolution
  bool external = false;  // writes memory rather than the unified buffer
};

struct SoftCommand {
  device::Dims in;
  bool hwc = false;  // tensors are kHwc8
  int batch = 1;
  bool eltwise_add = false;
  Bytes input, output, eltwise;  // of the whole batch
  // Version 1: the input is bytes, looked up in 3 x 256 binary16, one row per channel of the
  // network; with `to_bgr`, channel k reads byte 2 - k of its pixel. mem null: binary16 input.
  Bytes table;
  bool to_bgr = false;
  std::vector<SoftRun> runs;
};

/// A chain that follows a command, and the memory that it writes and reads.
struct SoftChain {
  std::unique_ptr<Chain> chain;  // null: none
  Bytes result;
  std::vector<Bytes> tensors;  // in the order of the operands
};

/// Checks and reads the chain that follows a command. Returns 0, or the error's code with the
/// message set.
int decode_chain(const dvnn_soft_chain& raw, const SoftCommand& command, SoftChain* out);

std::unique_ptr<Plan> make_conv_plan(SoftCommand command);

}  // namespace dvnn::softdv
