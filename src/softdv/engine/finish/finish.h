// SPDX-License-Identifier: Apache-2.0
// The steps from a run's sums to rounded binary16: addition, pooling or normalisation, activation,
// chain. Each piece takes them on one thread, within its caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "softdv/engine/finish/chain.h"
#include "softdv/engine/finish/pointwise.h"
#include "softdv/engine/finish/register_finish.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

/// Returns the shape of `dims` as rows and columns, in layout kHwc8 (`hwc`) or kWhc8.
RowShape row_shape(device::Dims dims, bool hwc);

/// Operation of a run after its convolution on rows of pixels: pooling, or local response
/// normalisation, which keeps the size.
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

constexpr int kChunk = 8;             // channels of a chunk
constexpr int kTaskValues = 1 << 14;  // least values of a piece that is worth its overhead

class Finish {
 public:
  /// `hwc`: tensors are kHwc8. `slopes`: PReLU's, one per channel, or null. `operand` (null: no
  /// addition) and `to` are whole tensors. `chain` (null: none) follows; `to` begins at element
  /// `sample` of its result.
  Finish(const Run& run, bool hwc, const float* slopes, const half_t* operand, half_t* to,
         const Chain* chain = nullptr, size_t sample = 0);

  const Reduction& reduction() const { return reduction_; }
  /// Sizes of the tensor before and after the reduction, and of one of its chunks.
  const RowShape& before() const { return before_; }
  const RowShape& after() const { return after_; }
  static RowShape part(RowShape shape, int chunk) {
    shape.channels = std::min(kChunk, shape.channels - chunk * kChunk);
    return shape;
  }
  int chunks() const { return (before_.channels + kChunk - 1) / kChunk; }
  /// Elements before a chunk.
  static size_t offset(const RowShape& shape, int chunk) {
    return static_cast<size_t>(chunk) * kChunk * shape.pixels();
  }

  /// Returns the whole finish if it can be applied to the sums of whole chunks in registers.
  /// `pools`: the caller can also pool maxima of adjacent 2x2 windows.
  std::optional<RegisterFinish> in_registers(bool pools) const;

  /// Returns whether a chain follows directly, without a reduction before it.
  bool chains_pixels() const { return chain_ && !reduction_.on(); }
  /// Adds the operand to `count` values from element `at` on, if it is added before the reduction.
  void add_before(size_t at, size_t count, float* values) const {
    if (reduction_.follows_addition()) add(at, count, values);
  }
  /// Finishes `count` pixels from `pixel` on, which need no reduction or are reduced; the floats
  /// are changed.
  void pixels(int chunk, size_t pixel, size_t count, float* values) const;
  /// Finishes rows `band` of the result from the convolution's rows `made`; the floats are changed.
  void rows(int chunk, Band band, Band made, float* values) const;

 private:
  void add(size_t at, size_t count, float* values) const;
  void store(int chunk, size_t at, size_t pixels, float* values) const;

  const Run& run_;
  const float* slopes_;
  const Reduction reduction_;
  const RowShape before_, after_;
  const half_t* operand_;
  half_t* to_;
  const Chain* chain_;
  size_t sample_;
};

}  // namespace dvnn::softdv
