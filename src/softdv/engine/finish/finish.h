// SPDX-License-Identifier: Apache-2.0
// What follows a run's convolution, from its sums to rounded binary16: addition, pooling or
// normalisation, activation. Each piece goes that way on one thread, within its caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "softdv/engine/finish/chain.h"
#include "softdv/engine/finish/reduction.h"
#include "softdv/engine/finish/register_finish.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

constexpr int kChunk = 8;             // channels that lie side by side
constexpr int kTaskValues = 1 << 14;  // that are worth a piece of their own

class Finish {
 public:
  /// `hwc`: tensors are kHwc8. `slopes`: PReLU's, for each channel; null where there are none.
  /// `operand` (null: nothing is added) and `to` are whole tensors. `chain` (null: there is none)
  /// follows; the result is its element `sample` on.
  Finish(const Run& run, bool hwc, const float* slopes, const half_t* operand, half_t* to,
         const Chain* chain = nullptr, size_t sample = 0);

  const Reduction& reduction() const { return reduction_; }
  /// The size of the tensor before the reduction and after it, and of one of its chunks alone.
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

  /// The whole finish, if it can be done while the sums of whole chunks are in registers.
  /// `pools`: a maximum pooling of 2x2 side by side can, too.
  std::optional<RegisterFinish> in_registers(bool pools) const;

  /// Says whether a chain follows, and nothing that changes the size comes before it.
  bool chains_pixels() const { return chain_ && !reduction_.on(); }
  /// Adds the operand to `count` values from element `at` on, if it is added before the reduction.
  void add_before(size_t at, size_t count, float* values) const {
    if (reduction_.follows_addition()) add(at, count, values);
  }
  /// `count` pixels from `pixel` on that are reduced if they are to be; the floats are changed.
  void pixels(int chunk, size_t pixel, size_t count, float* values) const;
  /// Rows `band` of the result, from the convolution's rows `made`; the floats are changed.
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
