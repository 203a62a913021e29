// SPDX-License-Identifier: Apache-2.0
// A run on working tensors, for what ChunkRun does not do: deconvolutions, normalisations over
// channels and the rarer depthwise convolutions, which oneDNN computes.
#pragma once

#include "softdv/runs/conv_kernel.h"
#include "softdv/runs/reduction.h"

namespace dvnn::softdv {

struct WorkingRun {
  const SoftRun& run;
  const ConvKernel* kernel;  // null if the run has no convolution
  bool hwc;
  bool activates;  // whether the activation is left to be done

  /// `from`, `operand` (null: nothing is added) and `to` are whole tensors.
  void execute(const half_t* from, const half_t* operand, half_t* to, Scratch* scratch) const;

 private:
  template <typename Rows, typename Then>
  void convolve(const half_t* from, Scratch* scratch, Rows rows_of, Then then) const;
  const float* spread(const half_t* from, Scratch* scratch) const;
};

}  // namespace dvnn::softdv
