// SPDX-License-Identifier: Apache-2.0
// A run on the device's chunks, from its convolution (if any) to the finish: one thread takes each
// piece of the result from sums to rounded binary16, within its caches.
#pragma once

#include "softdv/engine/runs/conv_kernel.h"

namespace dvnn::softdv {

struct ChunkRun {
  const Run& run;
  const ConvKernel* kernel;  // null: the run has no convolution
  bool hwc;
  const Chain* chain = nullptr;  // null: no chain follows
  size_t sample = 0;             // elements of the chain's result before this sample

  /// `from`, `operand` (null: no addition) and `to` are whole tensors.
  void execute(const half_t* from, const half_t* operand, half_t* to, Team* team) const;
};

}  // namespace dvnn::softdv
