// SPDX-License-Identifier: Apache-2.0
// A run whose convolution works on the device's chunks, with all that follows it: each piece of the
// result goes from the convolution's sums to rounded binary16 on one thread, within its caches.
#pragma once

#include "softdv/conv_kernel.h"
#include "softdv/reduction.h"

namespace dvnn::softdv {

struct ChunkRun {
  const SoftRun& run;
  const ConvKernel& kernel;  // with depthwise() or direct()
  bool hwc;

  /// Whether a run that is so reduced can be done like that.
  static bool suits(const Reduction& reduction) {
    return !reduction.on() || (reduction.keeps_channels_apart() && reduction.follows_addition());
  }
  /// `from`, `operand` (null: nothing is added) and `to` are whole tensors.
  void execute(const half_t* from, const half_t* operand, half_t* to, Team* team) const;
};

}  // namespace dvnn::softdv
