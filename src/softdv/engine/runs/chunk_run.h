// SPDX-License-Identifier: Apache-2.0
// A run on the device's chunks, from its convolution (if it has one) to what follows: each piece of
// the result goes from sums to rounded binary16 on one thread, within its caches.
#pragma once

#include "softdv/engine/runs/conv_kernel.h"

namespace dvnn::softdv {

struct ChunkRun {
  const Run& run;
  const ConvKernel* kernel;  // null if it has no convolution
  bool hwc;
  const Chain* chain = nullptr;  // what follows, if anything does
  size_t sample = 0;             // elements of its result before this one

  /// `from`, `operand` (null: nothing is added) and `to` are whole tensors.
  void execute(const half_t* from, const half_t* operand, half_t* to, Team* team) const;
};

}  // namespace dvnn::softdv
