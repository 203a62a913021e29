// SPDX-License-Identifier: Apache-2.0
// One convolution on oneDNN: primitive chosen, weights re-packed, shared by all command lists that
// run the same convolution with the same weights.
#pragma once

#include <memory>
#include <vector>

#include "softdv/conv_command.h"
#include "softdv/working_format.h"

namespace dvnn::softdv {

class ConvKernel {
 public:
  /// The kernel of `run`, from the weights as they are now; from a cache where it is known. Null on
  /// failure, with set_error() called.
  static std::shared_ptr<ConvKernel> get(const SoftRun& run, bool y_major, bool relu);
  ~ConvKernel();

  /// Working formats: `source` after spreading (deconvolutions), `result` before pooling.
  const WorkingShape& source() const { return source_; }
  const WorkingShape& result() const { return result_; }
  /// PReLU slopes, one per output channel and unused lane; empty otherwise.
  const std::vector<float>& slopes() const { return slopes_; }
  /// Convolves and adds the bias (and applies ReLU if it was built so).
  void execute(const float* source, float* result) const;

 private:
  ConvKernel();
  bool build(const SoftRun& run, bool y_major, bool relu);
  struct Primitive;
  std::unique_ptr<Primitive> primitive_;
  WorkingShape source_, result_;
  std::vector<float> slopes_;
};

/// A content hash of a run's packed weights.
uint64_t weights_hash(const Bytes& weights);

}  // namespace dvnn::softdv
