// SPDX-License-Identifier: Apache-2.0
// One prepared convolution with re-packed weights. All command lists that run the same convolution
// with the same weights share it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/span.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/run.h"

namespace dvnn::softdv {

class ConvKernel {
 public:
  /// The kernel of `run`, from the packed weights as they are now; from a cache where it is known.
  /// Null for lack of memory.
  static std::shared_ptr<ConvKernel> get(const Run& run, Span<const uint8_t> weights, bool hwc);

  const Convolution& convolution() const { return *convolution_; }
  /// PReLU slopes, one per output channel; null otherwise.
  const float* slopes() const { return slopes_.empty() ? nullptr : slopes_.data(); }

 private:
  ConvKernel() = default;
  void build(const Run& run, const uint8_t* packed, bool hwc);
  std::unique_ptr<Convolution> convolution_;
  std::vector<float> slopes_;
};

/// A content hash of a run's packed weights.
uint64_t weights_hash(Span<const uint8_t> weights);

}  // namespace dvnn::softdv
