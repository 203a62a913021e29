// SPDX-License-Identifier: Apache-2.0
// One prepared convolution with re-packed weights. All command lists that run the same convolution
// with the same weights share it.
#pragma once

#include <memory>
#include <vector>

#include "softdv/conv_command.h"
#include "softdv/convolutions/any_depthwise.h"
#include "softdv/convolutions/depthwise.h"
#include "softdv/convolutions/direct.h"
#include "softdv/convolutions/transposed.h"
#include "softdv/convolutions/winograd.h"

namespace dvnn::softdv {

class ConvKernel {
 public:
  /// The kernel of `run`, from the weights as they are now; from a cache where it is known. Null
  /// for lack of memory, with set_error() called.
  static std::shared_ptr<ConvKernel> get(const SoftRun& run, bool hwc);

  /// One of these is not null.
  const Depthwise* depthwise() const { return depthwise_.get(); }
  const AnyDepthwise* any_depthwise() const { return any_depthwise_.get(); }
  const Direct* direct() const { return direct_.get(); }
  const Transposed* transposed() const { return transposed_.get(); }
  const Winograd* winograd() const { return winograd_.get(); }

  /// PReLU slopes, one per output channel; empty otherwise.
  const std::vector<float>& slopes() const { return slopes_; }

 private:
  ConvKernel() = default;
  void build(const SoftRun& run, bool hwc);
  std::unique_ptr<Depthwise> depthwise_;
  std::unique_ptr<AnyDepthwise> any_depthwise_;
  std::unique_ptr<Direct> direct_;
  std::unique_ptr<Transposed> transposed_;
  std::unique_ptr<Winograd> winograd_;
  std::vector<float> slopes_;
};

/// A content hash of a run's packed weights.
uint64_t weights_hash(const Bytes& weights);

}  // namespace dvnn::softdv
