// SPDX-License-Identifier: Apache-2.0
// Operation of a run after its convolution on rows of pixels: pooling, or local response
// normalisation, which keeps the size.
#pragma once

#include "softdv/engine/finish/pointwise.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

/// Returns the shape of `dims` as rows and columns, in layout kHwc8 (`hwc`) or kWhc8.
RowShape row_shape(device::Dims dims, bool hwc);

class Reduction {
 public:
  Reduction(const Run& run, bool hwc);
  /// Returns whether the run has one.
  bool on() const { return kind_ != device::PoolKind::kNone || normalises_; }
  /// Returns whether a channel's results depend on that channel alone.
  bool keeps_channels_apart() const { return !normalises_; }
  /// Returns whether it is a maximum over 2x2 windows side by side, which all lie in the tensor.
  bool halves(const RowShape& in, const RowShape& out) const;
  /// Returns the window of a maximum pooling; null if it is no such.
  const PoolWindow* largest_of() const {
    return kind_ == device::PoolKind::kMax && !normalises_ ? &window_ : nullptr;
  }
  /// Returns whether it comes after the run's element-wise addition.
  bool follows_addition() const { return on() && kind_ != device::PoolKind::kAverage; }
  /// Returns the input rows, at least one, that the result rows `band` need.
  Band input_rows(const RowShape& in, Band band) const;
  /// Computes rows `band`. `from` must have input_rows().
  void apply(RowsView from, const RowShape& in, float* to, const RowShape& out, Band band) const;

 private:
  device::PoolKind kind_;
  PoolWindow window_;
  float scale_;
  bool normalises_;
  int prescale_;  // of the normalisation
};

}  // namespace dvnn::softdv
