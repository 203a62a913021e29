// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions. Results that are a stride apart use the same subset of the taps: such a
// phase is an ordinary convolution of neighbouring source pixels, without the zeros between them.
// Phases of few channels which use the same source pixels are computed as channels of one.
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
    for (const Part& part : parts_) {
      const Band mine = rows_of(part, rows);
      if (mine.first >= mine.last) continue;
      part.convolution.run(from, mine, {0, part.convolution.out_columns()}, group,
                           [&](const ChunkResult& made) { spread(made, part, mine, rows, all); });
    }
    if (all.chunks > 0) finish(all);
  }

 private:
  // The results whose row and column have one remainder each modulo the gaps.
  struct Phase {
    int row, column;
  };
  // A convolution of some phases; its channels are those of one phase after those of the other.
  struct Part {
    std::vector<Phase> phases;
    Direct convolution;
  };
  // Returns the rows of a part with all its results in some rows of the whole.
  Band rows_of(const Part& part, Band rows) const;
  // Returns room for the results of a piece, of all parts.
  ChunkResult room_for(Band rows, Group group) const;
  // Moves results of a part's rows `mine` to where they are in the piece of rows `rows`.
  void spread(const ChunkResult& made, const Part& part, Band mine, Band rows,
              const ChunkResult& all) const;
  Cuts find_cuts(bool overlap) const;

  ConvShape shape_;
  std::vector<Part> parts_;
  Cuts cuts_ = {};
};

}  // namespace dvnn::softdv
