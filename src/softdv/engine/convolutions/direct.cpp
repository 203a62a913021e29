// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/direct.h"

#include "base/aligned.h"
#include "base/grid.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/source_tile.h"

namespace dvnn::softdv {
Direct::Direct(const ConvShape& shape, const float* weights, const float* bias, bool as_one_row)
    : shape_(shape), pixel_(shape.chunk_channels(0)), read_(shape, weights, grain()) {
  for (const int chunk : read_.chunks()) starts_.push_back(shape.before_chunk(chunk));
  const size_t out = shape.outputs(), panels = (out + kPanel - 1) / kPanel;
  weights_.assign(panels * panel(), 0);
  pack_weights(weights);
  bias_.assign(panels * kPanel, 0);
  std::copy(bias, bias + out, bias_.begin());
  if (!read_.all()) {
    // A product that is left out would have made 0 of -0, unless it was -0, too.
    for (float& value : bias_) value += 0.0f;
  }
  // Joins the two axes if each result depends only on the source at its own place.
  if (as_one_row && is_pointwise(shape.rows) && is_pointwise(shape.columns)) {
    const int pixels = shape.rows.out * shape.columns.out;
    shape_.rows.in = shape_.rows.out = 1;
    shape_.columns.in = shape_.columns.out = pixels;
  }
  cuts_ = find_cuts(!as_one_row);
}

// The kernel takes offsets where pixels are a chunk apart, as they are but for strides and images.
ReadChannels::Grain Direct::grain() const {
  using Grain = ReadChannels::Grain;
  if (source_step() != kChunk) return Grain::kChunks;
  return shape_.taps() > 1 ? Grain::kChannelsOfAChunk : Grain::kChannelsOfAnyChunk;
}

void Direct::pack_weights(const float* weights) {
  const size_t in = shape_.inputs(), taps = shape_.taps();
  for (size_t m = 0; m < shape_.outputs(); ++m) {
    half_t* to = weights_.data() + m / kPanel * panel() + m % kPanel;
    for (const ReadChannels::Group& group : read_.groups()) {
      for (size_t t = 0; t < taps; ++t) {
        for (size_t i = group.first; i < group.first + group.size; ++i, to += kPanel) {
          *to = float_to_half(weights[(m * in + read_.channels()[i]) * taps + t]);
        }
      }
    }
  }
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
  const int64_t tile = width * shape_.columns.stride * kChunk *
                       static_cast<int64_t>(starts_.size()) *
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
      weights_.size() > read_.channels().size() * shape_.rows.inputs() * shape_.columns.inputs();
  return cuts;
}

void Direct::list_taps(size_t width, size_t plane, std::vector<DirectTap>* taps) const {
  static thread_local std::vector<DirectOffset> offsets;
  static thread_local std::vector<DirectTap> groups;
  read_.find_taps(plane, &offsets, &groups);
  taps->clear();
  for (DirectTap tap : groups) {
    const size_t start = tap.offset;
    for (size_t y = 0; y < shape_.rows.taps(); ++y) {
      const size_t row = start + y * shape_.rows.tap_step() * width;
      if (taps_adjoin()) {
        taps->push_back({row, shape_.columns.taps() * tap.values, nullptr});
        continue;
      }
      for (size_t x = 0; x < shape_.columns.taps(); ++x) {
        tap.offset = row + x * shape_.columns.tap_step() * pixel_;
        taps->push_back(tap);
      }
    }
  }
}

Direct::Tile Direct::load(const half_t* from, Band rows, Band columns) const {
  const Reach down = reach(shape_.rows, rows, false);
  const Reach across = reach(shape_.columns, columns, false);
  const size_t width = across.places() * pixel_, plane = down.places() * width;
  const size_t results = rows.count() * columns.count() * kPanelsAtOnce * kPanel;
  const size_t source = starts_.size() * plane;

  static thread_local AlignedFloats buffer;
  static thread_local std::vector<DirectTap> taps;
  float* const values = buffer.room(source + results);
  list_taps(width, plane, &taps);
  SourceAhead left = {};
  if (converts_source()) {
    const size_t first = grid_index(columns.first, rows.first, out_columns());
    const size_t chunks = starts_.size(), tap_count = std::max<size_t>(1, taps.size());
    left = {from + first * kChunk,          values,        starts_.data(), plane, chunks,
            quotient_up(chunks, tap_count), plane / kChunk};
  } else {
    float* to = values;
    for (const int chunk : read_.chunks()) {
      load_source(shape_, from, chunk, down, across, pixel_, to);
      to += plane;
    }
  }
  const size_t row = width * (down.step == 1 ? shape_.rows.result_step() : 1);
  Tile tile = {values,          rows.count(), columns.count(), row,
               values + source, taps.data(),  taps.size(),     left};
  if (row == tile.columns * pixel_ && source_step() == pixel_) {  // all rows are contiguous
    tile.columns *= tile.rows;
    tile.rows = 1;
  }
  return tile;
}

bool Direct::converts_source() const {
  return is_pointwise(shape_.rows) && is_pointwise(shape_.columns) &&
         shape_.in_channels % kChunk == 0;
}

Direct::PanelWeights::PanelWeights(const Direct& of, const Tile& tile, Band panels)
    : of_(of), tile_(tile), left_(panels) {
  constexpr size_t kWorth = 3 * kPixels;
  // Floats that fit the second-level cache beside the sources, and together with the next ones.
  static const bool few = registers_are_few();
  const size_t most = few ? 72 << 10 : 36 << 10;
  constexpr size_t kMostAhead = 16 << 10;
  // If the kernel multiplies with one panel at a time, more would only compete for the cache.
  step_ = few ? 1 : kPanelsAtOnce;
  joins_last_ = few && panels.count() > 1 && of.chunks_of(panels).count() % kPanelChunks != 0 &&
                2 * of.panel() <= most;
  const size_t count =
      of.panel() * (joins_last_ ? 2 : std::min(panels.count(), static_cast<size_t>(step_)));
  const bool suits = few || of.source_step() <= kChunk;
  if (!suits || tile.rows * tile.columns < kWorth || count > most) return;
  ahead_ = !few && count <= kMostAhead;  // else loads of weights and sources leave no time for it
  static thread_local AlignedFloats buffer;
  floats_ = buffer.room(ahead_ ? 2 * count : count);
  spare_ = ahead_ ? floats_ + count : floats_;
}

bool Direct::PanelWeights::next(Band* some, DirectWeights* by) {
  if (left_.first == left_.last) return false;
  const int step = joins_last_ && left_.count() == 2 ? 2 : step_;
  *some = {left_.first, std::min(left_.first + step, left_.last)};
  left_.first = some->last;
  const size_t own = of_.panel();
  auto place = [&](int panel) { return of_.weights_.data() + static_cast<size_t>(panel) * own; };
  const int after = std::min(some->last + step_, left_.last);
  fetched_ = {reinterpret_cast<const char*>(place(some->last)),
              reinterpret_cast<const char*>(place(after))};
  *by = {tile_.taps,
         tile_.tap_count,
         place(some->first),
         nullptr,
         own,
         of_.bias_.data() + some->before() * kPanel,
         of_.chunks_of(*some).count(),
         &fetched_,
         &converted_};
  if (!floats_) return true;
  if (converted_.to) {
    half_to_float(converted_.from, converted_.to, converted_.left);  // what no tap has converted
    std::swap(floats_, spare_);
  } else {
    half_to_float(by->halves, floats_, own * some->count());
  }
  by->halves = nullptr;
  by->floats = floats_;
  if (!ahead_) return true;
  fetched_ = {};
  converted_ = {place(some->last), spare_, own * Band{some->last, after}.count()};
  return true;
}

DirectPixels Direct::pixels(Tile& tile, size_t row) const {
  return {tile.values + row * tile.row,
          source_step(),
          tile.columns,
          tile.results + row * tile.columns * kChunk,
          tile.rows * tile.columns * kChunk,
          nullptr,
          &tile.left};
}

ChunkResult Direct::convolve(Tile& tile, Band panels, const DirectWeights& by) const {
  for (size_t r = 0; r < tile.rows; ++r) convolve_pixels(pixels(tile, r), by);
  const Band chunks = chunks_of(panels);
  const DirectPixels made = pixels(tile, 0);
  return {chunks.first, chunks.last - chunks.first, made.floats, made.plane};
}

Band Direct::chunks_of(Band panels) const {
  const int all = (out_channels() + kChunk - 1) / kChunk;
  return {panels.first * kPanelChunks, std::min(panels.last * kPanelChunks, all)};
}

void Direct::run(const half_t* from, Band rows, Band columns, Group group,
                 RegisterFinish finish) const {
  Tile tile = load(from, rows, columns);
  const Band mine = panels(group);
  const size_t first = chunks_of(mine).before(), row = shape_.columns.outputs();
  const size_t start =
      first * finish.plane + grid_index(columns.first, rows.first, out_columns()) * kChunk;
  finish.to += start;
  if (finish.addend) finish.addend += start;
  if (finish.slopes) finish.slopes += mine.first * kPanel;
  // Computes all rows with some panels, so that their weights stay in the cache.
  PanelWeights weights(*this, tile, mine);
  DirectWeights by = {};
  for (Band some = {}; weights.next(&some, &by);) {
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
  Tile tile = load(from, rows, columns);
  const Band mine = panels(group);
  const size_t first = grid_index(columns.first, rows.first, out_columns());
  const size_t rows_at_once = std::max<size_t>(1, kSpanPixels / tile.columns);
  PanelWeights weights(*this, tile, mine);
  DirectWeights by = {};
  for (Band some = {}; weights.next(&some, &by);) {
    const Band made = chunks_of(some);
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
