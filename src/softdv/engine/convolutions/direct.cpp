// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/direct.h"

#include "base/aligned.h"
#include "base/grid.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/source_tile.h"

namespace dvnn::softdv {
Direct::Direct(const ConvShape& shape, const float* weights, const float* bias, bool as_one_row)
    : shape_(shape), pixel_(shape.chunk_channels(0)) {
  const size_t in = shape.inputs(), out = shape.outputs(), taps = shape.taps();
  const size_t panels = (out + kPanel - 1) / kPanel;
  weights_.assign(panels * in * taps * kPanel, 0);
  bias_.assign(panels * kPanel, 0);
  std::copy(bias, bias + out, bias_.begin());
  for (size_t m = 0; m < out; ++m) {
    for (size_t c = 0; c < in; ++c) {
      const size_t chunk = c / kChunk, channels = std::min<size_t>(kChunk, in - chunk * kChunk);
      for (size_t t = 0; t < taps; ++t) {
        const size_t row = chunk * kChunk * taps + t * channels + c % kChunk;
        weights_[(m / kPanel * in * taps + row) * kPanel + m % kPanel] =
            float_to_half(weights[(m * in + c) * taps + t]);
      }
    }
  }
  // Joins the two axes if each result depends only on the source at its own place.
  if (as_one_row && is_pointwise(shape.rows) && is_pointwise(shape.columns)) {
    const int pixels = shape.rows.out * shape.columns.out;
    shape_.rows.in = shape_.rows.out = 1;
    shape_.columns.in = shape_.columns.out = pixels;
  }
  cuts_ = find_cuts(!as_one_row);
}

// Chooses tiles that stay in the second-level cache. If weights are large, each thread reads only
// some of them. With `overlap`, neighbouring bands compute some rows twice.
Cuts Direct::find_cuts(bool overlap) const {
  // Sizes in floats; a tiny tile stays in the first-level cache.
  constexpr int64_t kTinyTile = 6 << 10, kSmallTile = 64 << 10, kLargeTile = 160 << 10;
  constexpr int64_t kResults = 32 << 10;
  constexpr size_t kFewWeights = 512, kManyWeights = 128 << 10;
  constexpr int kLeastPixels = 28, kLeastRows = 16;
  const bool one_row = is_one_row(), many_weights = weights_.size() > kManyWeights;
  const int units = one_row ? out_columns() : out_rows();
  const int64_t width = one_row ? 1 : out_columns();
  const int64_t tile = width * shape_.columns.stride * kChunk * chunks() *
                       (one_row || shape_.rows.kernel == 1 ? 1 : shape_.rows.stride);
  const int64_t result = width * kPanelsAtOnce * kPanel;
  const bool few_weights = weights_.size() <= kFewWeights && one_row;
  const int64_t budget = few_weights ? kTinyTile : many_weights ? kLargeTile : kSmallTile;
  const int64_t needed = std::max(units * tile / budget, units * result / kResults) + 1;
  const int least = one_row ? kLeastPixels : overlap ? kLeastRows : 1;
  Cuts cuts;
  cuts.units = units;
  cuts.least_bands = static_cast<int>(std::min<int64_t>(needed, units));
  cuts.most_bands = std::max(1, units / least);
  cuts.most_groups = std::max(1, (shape_.out_channels + kPanel - 1) / kPanel / kPanelsAtOnce);
  cuts.groups_first = many_weights || overlap;
  cuts.macs = static_cast<double>(weights_.size()) * out_rows() * out_columns();
  cuts.mostly_weights =
      weights_.size() > shape_.inputs() * shape_.rows.inputs() * shape_.columns.inputs();
  return cuts;
}

Direct::Tile Direct::load(const half_t* from, Band rows, Band columns) const {
  const Reach down = reach(shape_.rows, rows, false);
  const Reach across = reach(shape_.columns, columns, false);
  const size_t width = across.places() * pixel_, plane = down.places() * width;
  const size_t results = rows.count() * columns.count() * kPanelsAtOnce * kPanel;
  const size_t source = static_cast<size_t>(chunks()) * plane;

  static thread_local AlignedFloats buffer;
  static thread_local std::vector<DirectTap> taps;
  float* const values = buffer.room(source + results);
  taps.clear();
  size_t start = 0;
  for (int chunk = 0; chunk < chunks(); ++chunk, start += plane) {
    load_source(shape_, from, chunk, down, across, pixel_, values + start);
    const size_t channels = shape_.chunk_channels(chunk);
    for (size_t y = 0; y < shape_.rows.taps(); ++y) {
      const size_t row = start + y * shape_.rows.tap_step() * width;
      if (taps_adjoin()) {
        taps.push_back({row, shape_.columns.taps() * channels});
        continue;
      }
      for (size_t x = 0; x < shape_.columns.taps(); ++x) {
        taps.push_back({row + x * shape_.columns.tap_step() * pixel_, channels});
      }
    }
  }
  const size_t row = width * (down.step == 1 ? shape_.rows.result_step() : 1);
  Tile tile = {values,          rows.count(), columns.count(), row,
               values + source, taps.data(),  taps.size()};
  if (row == tile.columns * pixel_ && source_step() == pixel_) {  // all rows are contiguous
    tile.columns *= tile.rows;
    tile.rows = 1;
  }
  return tile;
}

DirectWeights Direct::weights(const Tile& tile, Band panels, FetchedAhead* ahead) const {
  const size_t own = shape_.inputs() * shape_.taps() * kPanel;
  return {tile.taps,
          tile.tap_count,
          weights_.data() + panels.before() * own,
          nullptr,
          own,
          bias_.data() + panels.before() * kPanel,
          chunks_of(panels).count(),
          ahead};
}

// Returns the weights of as many panels as `panels` has, after these and before `last`.
FetchedAhead Direct::panels_after(Band panels, int last) const {
  const size_t own = shape_.inputs() * shape_.taps() * kPanel;
  const int end = std::min(panels.last + static_cast<int>(panels.count()), last);
  auto place = [&](int panel) {
    return reinterpret_cast<const char*>(weights_.data() + static_cast<size_t>(panel) * own);
  };
  return {place(panels.last), place(end)};
}

// Returns the weights as floats, if they are multiplied with enough pixels to make storing the
// converted weights worthwhile.
DirectWeights Direct::near_weights(const Tile& tile, Band panels, FetchedAhead* ahead) const {
  constexpr size_t kWorth = 3 * kPixels;
  // Weights that fit the second-level cache beside the sources.
  static const bool few = registers_are_few();
  const size_t most = few ? 72 << 10 : 36 << 10;
  const bool suits = few || source_step() == kChunk;
  DirectWeights by = weights(tile, panels, ahead);
  if (!suits || tile.rows * tile.columns < kWorth || by.panel * panels.count() > most) return by;
  static thread_local AlignedFloats buffer;
  const size_t count = by.panel * panels.count();
  float* const floats = buffer.room(count);
  half_to_float(by.halves, floats, count);
  by.halves = nullptr;
  by.floats = floats;
  return by;
}

// If the kernel multiplies with one panel at a time, more panels would only compete for the cache.
int Direct::panels_near() {
  static const bool few = registers_are_few();
  return few ? 1 : kPanelsAtOnce;
}

DirectPixels Direct::pixels(const Tile& tile, size_t row) const {
  return {tile.values + row * tile.row,
          source_step(),
          tile.columns,
          tile.results + row * tile.columns * kChunk,
          tile.rows * tile.columns * kChunk,
          nullptr};
}

ChunkResult Direct::convolve(const Tile& tile, Band panels) const {
  FetchedAhead ahead = panels_after(panels, panels.last);
  const DirectWeights by = near_weights(tile, panels, &ahead);
  for (size_t r = 0; r < tile.rows; ++r) convolve_pixels(pixels(tile, r), by);
  const Band chunks = chunks_of(panels);
  const DirectPixels made = pixels(tile, 0);
  return {chunks.first, chunks.last - chunks.first, made.floats, made.plane};
}

Band Direct::chunks_of(Band panels) const {
  constexpr int kPanelChunks = kPanel / kChunk;
  const int all = (out_channels() + kChunk - 1) / kChunk;
  return {panels.first * kPanelChunks, std::min(panels.last * kPanelChunks, all)};
}

void Direct::run(const half_t* from, Band rows, Band columns, Group group,
                 RegisterFinish finish) const {
  const Tile tile = load(from, rows, columns);
  const Band mine = panels(group);
  const size_t first = chunks_of(mine).before(), row = shape_.columns.outputs();
  const size_t start =
      first * finish.plane + grid_index(columns.first, rows.first, out_columns()) * kChunk;
  finish.to += start;
  if (finish.addend) finish.addend += start;
  if (finish.slopes) finish.slopes += mine.first * kPanel;
  // Computes all rows with some panels, so that their weights stay in the cache.
  const int step = panels_near();
  for (int panel = mine.first; panel < mine.last; panel += step) {
    const Band some = {panel, std::min(panel + step, mine.last)};
    FetchedAhead ahead = panels_after(some, mine.last);
    const DirectWeights by = near_weights(tile, some, &ahead);
    RegisterFinish at = finish;
    for (size_t r = 0; r < tile.rows; ++r) {
      DirectPixels made = pixels(tile, r);
      made.finish = &at;
      convolve_pixels(made, by);
      at.to += row * kChunk;
      if (at.addend) at.addend += row * kChunk;
    }
    const size_t passed = some.count() * kPanel / kChunk;
    finish.to += passed * finish.plane;
    if (finish.addend) finish.addend += passed * finish.plane;
    if (finish.slopes) finish.slopes += some.count() * kPanel;
  }
}

void Direct::run_spans(const half_t* from, Band rows, Band columns, Group group,
                       const Finish& finish) const {
  constexpr size_t kSpanPixels = 6 * kPixels;  // whole blocks of all kernels
  const Tile tile = load(from, rows, columns);
  const Band mine = panels(group);
  const size_t first = grid_index(columns.first, rows.first, out_columns());
  const size_t rows_at_once = std::max<size_t>(1, kSpanPixels / tile.columns);
  const int step = panels_near();
  for (int panel = mine.first; panel < mine.last; panel += step) {
    const Band some = {panel, std::min(panel + step, mine.last)};
    const Band made = chunks_of(some);
    FetchedAhead ahead = panels_after(some, mine.last);
    const DirectWeights by = near_weights(tile, some, &ahead);
    for (size_t r = 0; r < tile.rows; r += rows_at_once) {
      const size_t band = std::min(rows_at_once, tile.rows - r);
      for (size_t c = 0; c < tile.columns; c += kSpanPixels) {
        const size_t across = std::min(kSpanPixels, tile.columns - c), count = band * across;
        for (size_t k = 0; k < band; ++k) {
          DirectPixels part = pixels(tile, r + k);
          part.from += c * part.step;
          part.count = across;
          part.floats = tile.results + k * across * kChunk;
          part.plane = count * kChunk;
          convolve_pixels(part, by);
        }
        for (int chunk = made.first; chunk < made.last; ++chunk) {
          finish.pixels(chunk, first + r * tile.columns + c, count,
                        tile.results + Band{made.first, chunk}.count() * count * kChunk);
        }
      }
    }
  }
}

void Direct::execute(const half_t* from, const Finish& finish, Team* team) const {
  const auto in_registers = finishes() ? finish.in_registers(false) : std::nullopt;
  const bool in_spans = finishes() && finish.chains_pixels();
  const bool one_row = is_one_row() && !finish.reduction().on();
  for_each_piece(shares(team->size()), out_columns(), one_row, one_row ? kPixels : 1, finish, team,
                 [&](const Piece& piece) {
                   if (in_registers) {
                     return run(from, piece.rows, piece.columns, piece.group, *in_registers);
                   }
                   if (in_spans) {
                     return run_spans(from, piece.rows, piece.columns, piece.group, finish);
                   }
                   run(from, piece.rows, piece.columns, piece.group,
                       [&](const ChunkResult& result) { finish_piece(finish, piece, result); });
                 });
}

}  // namespace dvnn::softdv
