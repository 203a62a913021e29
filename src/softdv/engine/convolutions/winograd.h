// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions with 36 products for every 16 results instead of 144, or 16 for every 4, and 3x1
// and 1x3 ones with 6 for every 4 instead of 12, or 4 for every 2. Sums are floats, but of sums and
// differences of source values: the last bits differ from the other convolutions, and a source
// value that is not finite may make a neighbouring result not finite.
#pragma once

#include <vector>

#include "base/aligned.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/read_channels.h"
#include "softdv/engine/rows.h"

namespace dvnn::softdv {

class Winograd final : public Convolution {
 public:
  /// Returns whether this is faster: enough channels and pixels share the transforms, and the
  /// weights, which become up to eight times as large, are not limited by memory. False if
  /// DVNN_SOFT_EXACT is set.
  static bool suits(const ConvShape& shape);
  /// `weights` are in ConvShape's order; they and `bias` are copied. With `overlap`, neighbouring
  /// bands convolve some rows twice.
  Winograd(const ConvShape& shape, const float* weights, const float* bias, bool overlap);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

  int out_columns() const { return shape_.columns.out; }
  /// Bands are best cut at multiples of this number of rows.
  int row_step() const { return static_cast<int>(tile_.rows); }
  /// Cuts the convolution into shares for some threads.
  Shares shares(int threads) const { return choose_shares(cuts_, threads); }

  /// As Direct::run(), for whole rows. Tiles begin at the same rows whatever is asked for, as the
  /// last bits depend on a result's place in its tile.
  template <typename Finish>
  void run(const half_t* from, Band rows, Group group, Finish finish) const {
    const Tiles tiles = load(from, rows);
    const Band mine = band_of(panels(), group.index, group.count);
    for (int panel = mine.first; panel < mine.last; panel += kPanelsAtOnce) {
      finish(convolve(tiles, {panel, std::min(panel + kPanelsAtOnce, mine.last)}));
    }
  }

 private:
  static constexpr int kPanel = static_cast<int>(kPanelChannels), kPanelsAtOnce = 2;

  // Transformed tiles of some rows, and room for their sums and results.
  struct Tiles {
    const float* values;    // (position, chunk, tile, 8)
    float *sums, *results;  // (position, chunk of some panels, tile, 8); (chunk, pixel, 8)
    float* spare;           // the results of a row of tiles
    const DirectTap* taps;
    size_t tap_count;
    size_t rows, columns, position;  // in tiles; floats of a position in `values`
    size_t skipped, result_rows;  // rows of the first tiles before the results, and of the results

    size_t plane() const { return rows * columns * kChunk; }
    // Floats of a position in `sums`: an odd number of cache lines, as in `values`.
    size_t sums_position() const { return kPanelsAtOnce * kPanel * rows * columns + 16; }
    // Sums of a row of tiles of the `chunk`-th chunk.
    const float* row(size_t chunk, size_t row) const {
      return sums + chunk * plane() + row * columns * kChunk;
    }
  };
  Tiles load(const half_t* from, Band rows) const;
  // Multiplies the transformed tiles with the weights of some panels; returns their chunks.
  Band multiply(const Tiles& tiles, Band panels) const;
  ChunkResult convolve(const Tiles& tiles, Band panels) const;
  // Finishes results in memory, if finishes(): `to`, `addend` and `slopes` belong to the whole
  // result.
  void run(const half_t* from, Band rows, Group group, const RegisterFinish& finish) const;
  bool finishes() const { return shape_.out_channels % kChunk == 0; }

  int chunks() const { return static_cast<int>(read_.chunks().size()); }
  int panels() const { return (shape_.out_channels + kPanel - 1) / kPanel; }
  Cuts find_cuts(bool overlap) const;
  size_t tile_columns() const { return quotient_up(shape_.columns.outputs(), tile_.columns); }

  ConvShape shape_;
  WinogradTile tile_;
  Cuts cuts_ = {};
  ReadChannels read_;
  AlignedVector<float> weights_;  // (position, panel, channel that is read, panel's channel)
  AlignedVector<float> bias_;     // of whole panels
};

}  // namespace dvnn::softdv
