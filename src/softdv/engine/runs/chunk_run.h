// SPDX-License-Identifier: Apache-2.0
// A run on the device's chunks, from its convolution (if any) to the finish: one thread takes each
// piece of the result from sums to rounded binary16, within its caches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/span.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

/// A prepared convolution with repacked weights. All command lists that run the same convolution
/// with the same weights share it.
class ConvKernel {
 public:
  /// Returns the kernel of `run` for the current packed weights, from a cache if it is there. Null
  /// for lack of memory.
  static std::shared_ptr<ConvKernel> get(const Run& run, Span<const uint8_t> weights, bool hwc);

  const Convolution& convolution() const { return *convolution_; }
  /// PReLU slopes, one per output channel, or null.
  const float* slopes() const { return slopes_.empty() ? nullptr : slopes_.data(); }

 private:
  ConvKernel() = default;
  void build(const Run& run, const uint8_t* packed, bool hwc);
  std::unique_ptr<Convolution> convolution_;
  std::vector<float> slopes_;
};

/// Returns a hash of the content of a run's packed weights.
uint64_t weights_hash(Span<const uint8_t> weights);

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
