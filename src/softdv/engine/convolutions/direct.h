// SPDX-License-Identifier: Apache-2.0
// Convolutions on the device's chunks as they lie in memory. A thread takes some rows, reads them
// as floats with the zeros around them, and makes the rows of some chunks of the result; neither
// leaves its second-level cache. The weights stay binary16, as memory is what large layers wait
// for.
#pragma once

#include <algorithm>
#include <vector>

#include "base/aligned.h"
#include "softdv/engine/bands.h"
#include "softdv/engine/convolutions/chunk_result.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/direct_kernel.h"
#include "softdv/engine/convolutions/shares.h"

namespace dvnn::softdv {

class Direct final : public Convolution {
 public:
  /// Any convolution without gaps that is not depthwise. `weights` are as ConvShape says, and are
  /// copied as `bias` is. With `as_one_row`, nothing that follows tells rows apart: the image
  /// becomes one of one row where that is the same.
  Direct(const ConvShape& shape, const float* weights, const float* bias, bool as_one_row);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

  int out_channels() const { return shape_.out_channels; }
  int out_rows() const { return shape_.rows.out; }
  int out_columns() const { return shape_.columns.out; }

  /// Cuts the convolution into shares for some threads.
  Shares shares(int threads) const { return choose_shares(cuts_, threads); }
  /// The channels that are made at a time; groups are of multiples of these or fewer.
  static constexpr int kGroupChannels = 2 * static_cast<int>(kPanelChannels);
  /// The chunks of the result that are a group's.
  Band chunks_of(Group group) const { return chunks_of(panels(group)); }

  /// Convolves rows `rows` (or columns `columns` of the only row) of group `group`. `from` is the
  /// whole input in chunks. Calls finish(result) for some chunks after the other; the floats may be
  /// changed until the next call.
  template <typename Finish>
  void run(const half_t* from, Band rows, Band columns, Group group, Finish finish) const {
    const Tile tile = load(from, rows, columns);
    const Band mine = panels(group);
    for (int panel = mine.first; panel < mine.last; panel += kPanelsAtOnce) {
      finish(convolve(tile, {panel, std::min(panel + kPanelsAtOnce, mine.last)}));
    }
  }

 private:
  static constexpr int kPanel = static_cast<int>(kPanelChannels);
  static constexpr int kPanelsAtOnce = kGroupChannels / kPanel;

  bool is_one_row() const { return shape_.rows.out == 1; }
  // Bands of a single row are best cut at multiples of these pixels.
  static constexpr int kPixels = 14;
  // run(), all the way to results in memory, if finishes(): `to`, `addend` and `slopes` are of the
  // whole result.
  void run(const half_t* from, Band rows, Band columns, Group group, RegisterFinish finish) const;
  // The same, a few pixels at a time, whose sums stay in the first-level cache on their way.
  void run_spans(const half_t* from, Band rows, Band columns, Group group,
                 const Finish& finish) const;
  bool finishes() const { return out_channels() % kChunk == 0; }

  // Some of the source as floats, and the result of it.
  struct Tile {
    const float* values;
    size_t rows, columns;  // of the result
    size_t row;            // floats from one result row's source to the next one's
    float* results;
    const DirectTap* taps;
    size_t tap_count;
  };
  Tile load(const half_t* from, Band rows, Band columns) const;
  ChunkResult convolve(const Tile& tile, Band panels) const;
  DirectWeights weights(const Tile& tile, Band panels) const;
  DirectWeights near_weights(const Tile& tile, Band panels) const;
  static int panels_near();
  DirectPixels pixels(const Tile& tile, size_t row) const;
  Band panels(Group group) const {
    return band_of((out_channels() + kPanel - 1) / kPanel, group.index, group.count);
  }
  // The chunks that some panels make: the last one may be of a single chunk.
  Band chunks_of(Band panels) const;
  Cuts find_cuts(bool overlap) const;

  int chunks() const { return (shape_.in_channels + kChunk - 1) / kChunk; }

  // Floats from the source of a result to that of the next. Where taps are one column, what lies
  // between the results' sources is left out.
  size_t source_step() const {
    return (shape_.columns.kernel == 1 ? 1 : shape_.columns.result_step()) * pixel_;
  }

  // A source of fewer channels than a chunk is kept as it is: what a row of taps reads is then one.
  bool taps_adjoin() const { return shape_.in_channels < kChunk && shape_.columns.dilation == 1; }

  ConvShape shape_;
  size_t pixel_;  // floats of a source pixel
  Cuts cuts_ = {};
  AlignedVector<half_t> weights_;  // (panel, chunk, tap, channel of the chunk, panel's channel)
  AlignedVector<float> bias_;      // a whole number of panels
};

}  // namespace dvnn::softdv
