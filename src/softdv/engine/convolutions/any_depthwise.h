// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of any kernel, stride and dilation, and transposed ones: some rows of a
// chunk at a time become floats, with the zeros around and between them.
#pragma once

#include <vector>

#include "base/aligned.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/source_tile.h"
#include "softdv/engine/rows.h"

namespace dvnn::softdv {

class AnyDepthwise final : public Convolution {
 public:
  /// `weights` are as ConvShape says, and are copied as `bias` is. With `overlap`, neighbouring
  /// bands convolve some rows twice.
  AnyDepthwise(const ConvShape& shape, const float* weights, const float* bias, bool overlap);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

  int out_columns() const { return shape_.columns.out; }
  static int row_step() { return 1; }
  /// Cuts the convolution into shares for some threads.
  Shares shares(int threads) const { return choose_shares(cuts_, threads); }

  /// As Direct::run(), for whole rows.
  template <typename Finish>
  void run(const half_t* from, Band rows, Group group, Finish finish) const {
    const Band mine = band_of(chunks(), group.index, group.count);
    for (int chunk = mine.first; chunk < mine.last; ++chunk) finish(convolve(from, rows, chunk));
  }

 private:
  static constexpr size_t kPattern = 16;  // floats over which weights repeat

  // Returns whether each result depends on the source at its own place alone, in whole chunks, as
  // in a BatchNorm that was not merged into a convolution.
  bool only_scales() const;
  void scale(const half_t* from, const RegisterFinish& finish, const RowShape& shape,
             Team* team) const;
  // The weights and bias of a chunk, repeated over kPattern floats.
  DepthwiseWeights weights_of(int chunk) const;
  ChunkResult convolve(const half_t* from, Band rows, int chunk) const;
  int chunks() const { return (shape_.out_channels + kChunk - 1) / kChunk; }
  Reach across() const { return reach(shape_.columns, {0, out_columns()}, true); }
  // Floats of a source row with its zeros.
  size_t row_floats() const { return across().places() * kChunk; }
  Cuts find_cuts(bool overlap) const;

  ConvShape shape_;
  Cuts cuts_ = {};
  AlignedVector<float> weights_;  // (chunk, tap, kPattern)
  AlignedVector<float> bias_;     // (chunk, kPattern)
  std::vector<size_t> starts_;    // where each tap of the first result begins in a piece's source
};

}  // namespace dvnn::softdv
