// SPDX-License-Identifier: Apache-2.0
// One prepared convolution with re-packed weights. All command lists that run the same convolution
// with the same weights share it. It works in bands of result rows, each on one thread.
#pragma once

#include <memory>
#include <vector>

#include "softdv/conv_command.h"
#include "softdv/convolutions/convolution.h"
#include "softdv/convolutions/depthwise.h"
#include "softdv/convolutions/direct.h"
#include "softdv/convolutions/winograd.h"
#include "softdv/runs/working_format.h"

namespace dvnn::softdv {

class ConvKernel {
 public:
  /// The kernel of `run`, from the weights as they are now; from a cache where it is known. Null on
  /// failure, with set_error() called.
  /// `in_chunks`: it may be one that works on chunks, without ReLU: one of depthwise(), direct()
  /// and winograd() is not null then, and there are no bands.
  static std::shared_ptr<ConvKernel> get(const SoftRun& run, bool hwc, bool relu, bool in_chunks);

  bool works_in_chunks() const { return depthwise_ || direct_ || winograd_; }
  const Depthwise* depthwise() const { return depthwise_.get(); }
  const Direct* direct() const { return direct_.get(); }
  const Winograd* winograd() const { return winograd_.get(); }

  /// The source as a working tensor, after spreading (deconvolutions).
  const WorkingShape& source() const { return source_; }
  /// PReLU slopes, one per output channel; empty otherwise.
  const std::vector<float>& slopes() const { return slopes_; }
  /// The bands that together are the result.
  const std::vector<Band>& bands() const { return bands_; }
  /// The source rows that each of them is made of.
  const std::vector<Band>& source_bands() const { return source_bands_; }
  /// Convolves and adds the bias (and applies ReLU if it was built so): from the source's rows
  /// source_bands()[band] the result's rows bands()[band]. Different bands may be done at the same
  /// time.
  void execute(size_t band, const float* source, float* result) const;

 private:
  ConvKernel() = default;
  bool build(const SoftRun& run, bool hwc, bool relu, bool in_chunks);
  std::unique_ptr<Depthwise> depthwise_;
  std::unique_ptr<Direct> direct_;
  std::unique_ptr<Winograd> winograd_;
  std::vector<std::unique_ptr<Convolution>> convolutions_;  // one a band
  WorkingShape source_, result_;
  std::vector<Band> bands_, source_bands_;
  std::vector<float> slopes_;
};

/// A content hash of a run's packed weights.
uint64_t weights_hash(const Bytes& weights);

}  // namespace dvnn::softdv
