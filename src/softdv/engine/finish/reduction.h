// SPDX-License-Identifier: Apache-2.0
// What a run does to the spatial size after its convolution: pooling, or local response
// normalisation, which keeps it.
#pragma once

#include "softdv/engine/finish/pointwise.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

/// The tensor `dims` by rows and columns, for kHwc8 (`hwc`) or kWhc8.
RowShape row_shape(device::Dims dims, bool hwc);

class Reduction {
 public:
  Reduction(const Run& run, bool hwc);
  /// Says whether there is any.
  bool on() const { return kind_ != device::PoolKind::kNone || normalises_; }
  /// Says whether a channel's results are made of that channel alone.
  bool keeps_channels_apart() const { return !normalises_; }
  /// Says whether each row of `out` is the largest of two rows of `in`, by two columns: all windows
  /// lie in the tensor side by side.
  bool halves(const RowShape& in, const RowShape& out) const;
  /// The window whose largest value each result is; null if that is not what it does.
  const PoolWindow* largest_of() const {
    return kind_ == device::PoolKind::kMax && !normalises_ ? &window_ : nullptr;
  }
  /// Says whether the element-wise addition of the run comes before it.
  bool follows_addition() const { return on() && kind_ != device::PoolKind::kAverage; }
  /// The rows of its input that its rows `band` need, at least one.
  Band input_rows(const RowShape& in, Band band) const;
  /// Makes rows `band`. `from` must have input_rows().
  void apply(RowsView from, const RowShape& in, float* to, const RowShape& out, Band band) const;

 private:
  device::PoolKind kind_;
  PoolWindow window_;
  float scale_;
  bool normalises_;
  int prescale_;  // of the normalisation
};

}  // namespace dvnn::softdv
