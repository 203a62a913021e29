// SPDX-License-Identifier: Apache-2.0
// What follows a convolution: pooling, element-wise addition, activations, LRN; on working tensors.
#pragma once

#include "device/command.h"
#include "softdv/working_format.h"

namespace dvnn::softdv {

/// A pooling window along rows and columns.
struct PoolWindow {
  int size_rows = 1, size_cols = 1, stride_rows = 1, stride_cols = 1, pad_rows = 0, pad_cols = 0;
};

/// Maximum over each window; the padding never wins.
void max_pool(const float* from, const WorkingShape& in, const PoolWindow& window, float* to,
              const WorkingShape& out);
/// Sum over each window (padding is 0) times `scale`.
void average_pool(const float* from, const WorkingShape& in, const PoolWindow& window, float scale,
                  float* to, const WorkingShape& out);
/// Every pixel twice in both directions.
void upsample(const float* from, const WorkingShape& in, float* to, const WorkingShape& out);
/// Local response normalisation over 5 channels by the hardware's 12 linear segments; lanes must
/// be all channels. `prescale` is log2 of what inputs are divided by before they are squared.
void lrn(const float* from, const WorkingShape& shape, int prescale, float* to);

/// Applies an activation in place; `slopes` (one per channel and unused lane)
/// for PReLU only.
void activate(device::Activation activation, float param, const float* slopes, bool absolute,
              const WorkingShape& shape, float* data);

}  // namespace dvnn::softdv
