// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions. Results that are a stride apart use the same subset of the taps: such a
// phase is an ordinary convolution of neighbouring source pixels, without the zeros between them.
#pragma once

#include <vector>

#include "softdv/engine/convolutions/direct.h"

namespace dvnn::softdv {

class Transposed final : public Convolution {
 public:
  /// Returns whether an axis has gaps, so no dilation, and the convolution is not depthwise.
  static bool suits(const ConvShape& shape);
  /// `weights` are in ConvShape's order; they and `bias` are copied. With `overlap`, neighbouring
  /// bands convolve some rows twice.
  Transposed(const ConvShape& shape, const float* weights, const float* bias, bool overlap);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

  int out_columns() const { return shape_.columns.out; }
  /// Bands are best cut at multiples of these rows.
  int row_step() const { return shape_.rows.gap; }
  /// Cuts the convolution into shares for some threads.
  Shares shares(int threads) const { return choose_shares(cuts_, threads); }

  /// As Direct::run(), for whole rows.
  template <typename Finish>
  void run(const half_t* from, Band rows, Group group, Finish finish) const {
    const ChunkResult all = room_for(rows, group);
    for (const Phase& phase : phases_) {
      const Band mine = {phase.rows_before(rows.first), phase.rows_before(rows.last)};
      if (mine.first >= mine.last) continue;
      phase.convolution.run(from, mine, {0, phase.convolution.out_columns()}, group,
                            [&](const ChunkResult& made) { spread(made, phase, mine, rows, all); });
    }
    if (all.chunks > 0) finish(all);
  }

 private:
  // The results whose row and column have one remainder each modulo the gaps.
  struct Phase {
    int row, column, row_gap;
    Direct convolution;
    // Number of the phase's rows before a row of the result.
    int rows_before(int result_row) const {
      return result_row <= row ? 0 : (result_row - row - 1) / row_gap + 1;
    }
  };
  // Returns room for the results of a piece, of all phases.
  ChunkResult room_for(Band rows, Group group) const;
  void spread(const ChunkResult& made, const Phase& phase, Band phase_rows, Band rows,
              const ChunkResult& all) const;
  Cuts find_cuts(bool overlap) const;

  ConvShape shape_;
  std::vector<Phase> phases_;
  Cuts cuts_ = {};
};

}  // namespace dvnn::softdv
