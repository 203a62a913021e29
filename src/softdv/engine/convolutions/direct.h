// SPDX-License-Identifier: Apache-2.0
// Direct convolutions on the device's chunks in memory. A thread takes some rows, reads them as
// floats with the zeros around them, and computes the rows of some chunks of the result; both stay
// in its second-level cache. The weights stay binary16, because large layers are limited by memory
// bandwidth.
#pragma once

#include <algorithm>
#include <vector>

#include "base/aligned.h"
#include "softdv/engine/convolutions/conv_shape.h"
#include "softdv/engine/convolutions/convolution.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/read_channels.h"
#include "softdv/engine/rows.h"

namespace dvnn::softdv {

class Direct final : public Convolution {
 public:
  /// Creates any convolution without gaps that is not depthwise. `weights` (as ConvShape describes)
  /// and `bias` are copied. `as_one_row`: later operations do not depend on rows, so the image may
  /// become a single row if the result is the same.
  Direct(const ConvShape& shape, const float* weights, const float* bias, bool as_one_row);
  void execute(const half_t* from, const Finish& finish, Team* team) const override;

  int out_channels() const { return shape_.out_channels; }
  int out_rows() const { return shape_.rows.out; }
  int out_columns() const { return shape_.columns.out; }

  /// Divides the convolution into shares for `threads` threads.
  Shares shares(int threads) const { return choose_shares(cuts_, threads); }
  /// Number of channels computed at a time; groups have a multiple of these, or fewer.
  static constexpr int kGroupChannels = 2 * static_cast<int>(kPanelChannels);
  /// Returns the chunks of the result that belong to a group.
  Band chunks_of(Group group) const { return chunks_of(panels(group)); }

  /// Convolves rows `rows` (or columns `columns` of the only row) of group `group`. `from`: the
  /// whole input in chunks. Calls finish(result) for several chunks in turn; the floats may be
  /// changed until the next call.
  template <typename Finish>
  void run(const half_t* from, Band rows, Band columns, Group group, Finish finish) const {
    Tile tile = load(from, rows, columns);
    const Band mine = panels(group);
    PanelWeights weights(*this, tile, mine);
    DirectWeights by = {};
    for (Band some = {}; weights.next(&some, &by);) finish(convolve(tile, some, by));
  }

 private:
  static constexpr int kPanel = static_cast<int>(kPanelChannels);
  static constexpr int kPanelsAtOnce = kGroupChannels / kPanel;
  static constexpr int kPanelChunks = kPanel / kChunk;

  bool is_one_row() const { return shape_.rows.out == 1; }
  // Bands of a single row are best cut at multiples of this number of pixels.
  static constexpr int kPixels = 14;
  // Computes finished results in memory, if finishes(): `to`, `addend` and `slopes` belong to the
  // whole result.
  void run(const half_t* from, Band rows, Band columns, Group group, RegisterFinish finish) const;
  // The same for a few pixels at a time, whose sums stay in the first-level cache.
  void run_spans(const half_t* from, Band rows, Band columns, Group group,
                 const Finish& finish) const;
  bool finishes() const { return out_channels() % kChunk == 0; }

  // A part of the source as floats, and its result.
  struct Tile {
    const float* values;
    size_t rows, columns;  // of the result
    size_t row;            // floats between the sources of two result rows
    float* results;
    const DirectTap* taps;
    size_t tap_count;
    SourceAhead left;  // pixels that the first panels convert
  };
  // Returns whether the kernel can convert source pixels, because they lie in memory as results do.
  bool converts_source() const;
  Tile load(const half_t* from, Band rows, Band columns) const;
  ChunkResult convolve(Tile& tile, Band panels, const DirectWeights& by) const;

  // Weights of panels, of as many at a time as are multiplied at once. They are floats if enough
  // pixels are multiplied with them; those that come next are converted or fetched meanwhile.
  class PanelWeights {
   public:
    PanelWeights(const Direct& of, const Tile& tile, Band panels);
    // Moves on to the next panels; returns false behind the last ones. The weights, which are
    // valid until the next call, change as they are multiplied.
    bool next(Band* some, DirectWeights* by);

   private:
    const Direct& of_;
    const Tile& tile_;
    Band left_;
    int step_ = 1;
    bool joins_last_ = false;  // the last panel has a single chunk, and goes with the one before
    bool ahead_ = false;       // convert weights ahead
    float* floats_ = nullptr;  // if not null: room for these weights
    float* spare_ = nullptr;   // for those that are converted ahead
    FetchedAhead fetched_ = {};
    WeightsAhead converted_ = {};
  };
  size_t panel() const { return read_.channels().size() * shape_.taps() * kPanel; }  // values
  ReadChannels::Grain grain() const;
  void pack_weights(const float* weights);
  // Lists the taps of a tile whose rows are `width` floats long and its chunks `plane`.
  void list_taps(size_t width, size_t plane, std::vector<DirectTap>* taps) const;
  DirectPixels pixels(Tile& tile, size_t row) const;
  Band panels(Group group) const {
    return band_of((out_channels() + kPanel - 1) / kPanel, group.index, group.count);
  }
  // Returns the chunks of some panels: the last panel may have a single chunk.
  Band chunks_of(Band panels) const;
  Cuts find_cuts(bool overlap) const;

  // Returns the number of floats between the sources of two results. With taps in one column,
  // positions between the results' sources are left out.
  size_t source_step() const {
    return (shape_.columns.kernel == 1 ? 1 : shape_.columns.result_step()) * pixel_;
  }

  // Returns whether a row of taps reads adjacent values: sources with fewer channels than a chunk
  // have no padding channels.
  bool taps_adjoin() const { return shape_.in_channels < kChunk && shape_.columns.dilation == 1; }

  ConvShape shape_;
  size_t pixel_;  // number of floats of a source pixel
  Cuts cuts_ = {};
  ReadChannels read_;
  std::vector<size_t> starts_;     // elements before each chunk that is read
  AlignedVector<half_t> weights_;  // (panel, group, tap, channel of the group, panel's channel)
  AlignedVector<float> bias_;      // a whole number of panels
};

}  // namespace dvnn::softdv
