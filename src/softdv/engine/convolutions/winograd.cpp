// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/winograd.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/aligned.h"
#include "base/environment.h"
#include "softdv/engine/convolutions/kernels.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/source_tile.h"

namespace dvnn::softdv {
namespace {

// Sizes of a thread's transformed tiles and sums, in floats; the larger one is for kManyWeights,
// which do not fit the caches, so that they are read less often.
constexpr int64_t kTileFloats = 64 << 10, kLargeTileFloats = 128 << 10, kManyWeights = 256 << 10;

bool is_exact() {
  static const bool exact = environment("DVNN_SOFT_EXACT") != nullptr;
  return exact;
}

bool suits_winograd(const ConvAxis& axis) {
  const bool taps = axis.kernel == 1 || (axis.kernel == 3 && axis.dilation == 1);
  return taps && axis.stride == 1 && axis.gap == 1;
}

// Multiplies each column of three numbers, `columns` of them side by side, with G of the paper for
// tiles of `results` results; with 1, there is no more than one tap to copy.
void expand(size_t results, const double* from, size_t columns, double* to) {
  for (size_t x = 0; x < columns; ++x) {
    const double a = from[x];
    auto put = [&](size_t row, double value) { to[row * columns + x] = value; };
    put(0, results == 4 ? a / 4 : a);
    if (results == 1) continue;
    const double b = from[columns + x], c = from[2 * columns + x];
    if (results == 2) {
      put(1, (a + b + c) / 2);
      put(2, (a - b + c) / 2);
      put(3, c);
      continue;
    }
    put(1, -(a + b + c) / 6);
    put(2, -(a - b + c) / 6);
    put(3, a / 24 + b / 12 + c / 6);
    put(4, a / 24 - b / 12 + c / 6);
    put(5, c);
  }
}

constexpr size_t kMostPositions = 36;

// Computes G g G^T of the paper, or G g along the only axis of the taps.
void transform(const WinogradTile& tile, const float* kernel, double (&to)[kMostPositions]) {
  const size_t across = tile.columns == 1 ? 1 : 3, positions = WinogradTile::sources(tile.columns);
  double values[9], down[18];
  std::copy_n(kernel, (tile.rows == 1 ? 1 : 3) * across, values);
  expand(tile.rows, values, across, down);
  for (size_t y = 0; y < WinogradTile::sources(tile.rows); ++y) {
    expand(tile.columns, down + across * y, 1, to + positions * y);
  }
}

// Returns the number of products for each pair of channels, or nothing if such tiles do not suit.
std::optional<int64_t> products(const ConvShape& shape, const WinogradTile& tile) {
  constexpr int kLeastChannels = 16, kLeastChannelsOfLine = 32;
  constexpr int64_t kLeastTiles = 32, kLeastLargeTiles = 24, kMostWeights = 3 << 19;
  const auto positions = static_cast<int64_t>(tile.positions());
  const int64_t across = quotient_up(shape.columns.out, static_cast<int>(tile.columns));
  const int64_t tiles = across * quotient_up(shape.rows.out, static_cast<int>(tile.rows));
  const int64_t weights = positions * shape.in_channels * shape.out_channels;
  const int64_t row = positions * shape.in_channels * across;
  const bool is_line = tile.rows == 1 || tile.columns == 1;
  const bool is_large = tile.rows == 4 || tile.columns == 4;
  if (shape.in_channels < (is_line ? kLeastChannelsOfLine : kLeastChannels) ||
      tiles < (is_large ? kLeastLargeTiles : kLeastTiles) || weights > kMostWeights ||
      row > kLargeTileFloats) {
    return std::nullopt;
  }
  return tiles * positions;
}

// Chooses tiles of two or four results along the axes of taps.
std::optional<WinogradTile> choose_tile(const ConvShape& shape) {
  if (shape.depthwise || is_exact()) return std::nullopt;
  if (!suits_winograd(shape.rows) || !suits_winograd(shape.columns)) return std::nullopt;
  const bool down = shape.rows.kernel == 3, across = shape.columns.kernel == 3;
  if (!down && !across) return std::nullopt;
  const WinogradTile small = {down ? 2u : 1u, across ? 2u : 1u};
  const WinogradTile large = {down ? 4u : 1u, across ? 4u : 1u};
  const auto by_small = products(shape, small), by_large = products(shape, large);
  // Larger tiles take more additions for each result.
  constexpr double kWorth = 0.8;
  const double most =
      by_small ? kWorth * static_cast<double>(*by_small) : std::numeric_limits<double>::infinity();
  if (by_large && static_cast<double>(*by_large) < most) return large;
  return by_small ? std::optional(small) : std::nullopt;
}

}  // namespace

bool Winograd::suits(const ConvShape& shape) {
  return choose_tile(shape).has_value();
}

Winograd::Winograd(const ConvShape& shape, const float* weights, const float* bias, bool overlap)
    : shape_(shape),
      tile_(*choose_tile(shape)),
      read_(shape, weights, ReadChannels::Grain::kChannelsOfAnyChunk) {
  const size_t in = shape.inputs(), read = read_.channels().size(), out = shape.outputs();
  const size_t taps = shape.taps(), positions = tile_.positions();
  const size_t all = static_cast<size_t>(panels());
  weights_.assign(positions * all * read * kPanel, 0);
  bias_.assign(all * kPanel, 0);
  std::copy(bias, bias + out, bias_.begin());
  for (size_t m = 0; m < out; ++m) {
    for (size_t i = 0; i < read; ++i) {
      double transformed[kMostPositions];
      transform(tile_, weights + (m * in + read_.channels()[i]) * taps, transformed);
      for (size_t p = 0; p < positions; ++p) {
        weights_[((p * all + m / kPanel) * read + i) * kPanel + m % kPanel] =
            static_cast<float>(transformed[p]);
      }
    }
  }
  cuts_ = find_cuts(overlap);
}

Cuts Winograd::find_cuts(bool overlap) const {
  constexpr int kMostGroups = 4, kLeastTileRows = 6, kLeastTiles = 28;
  const int tile_rows = quotient_up(shape_.rows.out, row_step());
  const auto row = static_cast<int64_t>(tile_.positions() * tile_columns());
  const int64_t floats = row * kChunk * std::max(chunks(), kPanelsAtOnce * kPanel / kChunk);
  const bool many_weights = static_cast<int64_t>(weights_.size()) > kManyWeights;
  const int64_t budget = many_weights ? kLargeTileFloats : kTileFloats;
  const int tiles = tile_rows * static_cast<int>(tile_columns());
  const int most_bands = overlap ? tile_rows / kLeastTileRows : tiles / kLeastTiles;
  Cuts cuts;
  cuts.units = tile_rows;
  cuts.least_bands =
      static_cast<int>(std::min<int64_t>((floats * tile_rows - 1) / budget + 1, tile_rows));
  cuts.most_bands = many_weights ? cuts.least_bands : std::clamp(most_bands, 1, tile_rows);
  cuts.most_groups = std::clamp(panels() / kPanelsAtOnce, 1, kMostGroups);
  cuts.groups_first = many_weights;
  cuts.macs = static_cast<double>(row * tile_rows) * static_cast<double>(read_.channels().size()) *
              shape_.out_channels;
  return cuts;
}

Winograd::Tiles Winograd::load(const half_t* from, Band rows) const {
  const size_t step_down = tile_.rows, step_across = tile_.columns;
  const size_t positions = tile_.positions();
  const size_t skipped = rows.before() % step_down, result_rows = rows.count();
  const size_t down = quotient_up(skipped + result_rows, step_down), across = tile_columns();
  const size_t count = down * across;
  const size_t all = read_.chunks().size();
  // An odd number of cache lines, so that one tile's numbers for all positions use different sets.
  const size_t position = all * count * kChunk + 16;
  const size_t sums = positions * (kPanelsAtOnce * kPanel * count + 16);  // as sums_position()
  const size_t results = kPanelsAtOnce * kPanel * result_rows * shape_.columns.outputs();
  const int first = rows.first - static_cast<int>(skipped);
  const Band made_down = {first, first + static_cast<int>(step_down * down)};
  const Band made_across = {0, static_cast<int>(step_across * across)};
  const Reach reach_down = reach(shape_.rows, made_down, true);
  const Reach reach_across = reach(shape_.columns, made_across, true);
  const size_t width = reach_across.places() * kChunk;
  const size_t source = reach_down.places() * width;
  const size_t spare = step_down * made_across.count() * kChunk;

  static thread_local AlignedFloats buffer;
  static thread_local std::vector<DirectTap> taps;
  static thread_local std::vector<DirectOffset> offsets;
  float* const values = buffer.room(positions * position + sums + results + source + spare);
  float* const source_floats = values + positions * position + sums + results;
  Tiles tiles = {values,
                 values + positions * position,
                 values + positions * position + sums,
                 source_floats + source,
                 nullptr,
                 0,
                 down,
                 across,
                 position,
                 skipped,
                 result_rows};
  size_t start = 0;
  for (const int chunk : read_.chunks()) {
    load_source(shape_, from, chunk, reach_down, reach_across, kChunk, source_floats);
    for (size_t r = 0; r < down; ++r) {
      winograd_sources(tile_, source_floats + step_down * r * width, width, across,
                       values + start + r * across * kChunk, position);
    }
    start += count * kChunk;
  }
  read_.find_taps(count * kChunk, &offsets, &taps);
  tiles.taps = taps.data();
  tiles.tap_count = taps.size();
  return tiles;
}

Band Winograd::multiply(const Tiles& tiles, Band panels) const {
  static constexpr float kNoBias[kPanelsAtOnce * kPanel] = {};
  const size_t own = read_.channels().size() * kPanel;  // number of weights of a panel
  const int all = quotient_up(shape_.out_channels, kChunk);
  const Band made = {panels.first * kPanel / kChunk, std::min(panels.last * kPanel / kChunk, all)};
  const size_t positions = tile_.positions();
  const size_t floats = weights_.size() / positions;
  for (size_t p = 0; p < positions; ++p) {
    const size_t first = p * floats + panels.before() * own;
    FetchedAhead ahead = {};
    SourceAhead no_source = {};
    WeightsAhead no_weights = {};
    if (p + 1 < positions) {
      const auto* const next = reinterpret_cast<const char*>(weights_.data() + first + floats);
      ahead = {next, next + panels.count() * own * sizeof(float)};
    }
    convolve_pixels({tiles.values + p * tiles.position, kChunk, tiles.rows * tiles.columns,
                     tiles.sums + p * tiles.sums_position(), tiles.plane(), nullptr, &no_source},
                    {tiles.taps, tiles.tap_count, nullptr, weights_.data() + first, own, kNoBias,
                     made.count(), &ahead, &no_weights});
  }
  return made;
}

ChunkResult Winograd::convolve(const Tiles& tiles, Band panels) const {
  const Band made = multiply(tiles, panels);
  const size_t position = tiles.sums_position(), skipped = tiles.skipped;
  const size_t row = shape_.columns.outputs() * kChunk, plane = tiles.result_rows * row;
  const size_t step = tile_.rows, spare_row = tile_.columns * tiles.columns * kChunk;
  for (size_t chunk = 0; chunk < made.count(); ++chunk) {
    const float* const bias = bias_.data() + (made.before() + chunk) * kChunk;
    float* const to = tiles.results + chunk * plane;
    for (size_t r = 0; r < tiles.rows; ++r) {
      const float* const sums = tiles.row(chunk, r);
      const size_t first = step * r, last = first + step;  // of the tiles' rows
      if (first >= skipped && last <= skipped + tiles.result_rows && spare_row == row) {
        winograd_results(tile_, sums, position, tiles.columns, bias, to + (first - skipped) * row,
                         row);
        continue;
      }
      winograd_results(tile_, sums, position, tiles.columns, bias, tiles.spare, spare_row);
      const size_t end = std::min(last, skipped + tiles.result_rows);
      for (size_t y = std::max(first, skipped); y < end; ++y) {
        std::copy_n(tiles.spare + (y - first) * spare_row, row, to + (y - skipped) * row);
      }
    }
  }
  return {made.first, made.last - made.first, tiles.results, plane};
}

void Winograd::run(const half_t* from, Band rows, Group group, const RegisterFinish& finish) const {
  const Tiles tiles = load(from, rows);
  const size_t row = shape_.columns.outputs() * kChunk, step = tile_.rows;
  const Band mine = band_of(panels(), group.index, group.count);
  for (int panel = mine.first; panel < mine.last; panel += kPanelsAtOnce) {
    const Band made = multiply(tiles, {panel, std::min(panel + kPanelsAtOnce, mine.last)});
    for (int chunk = made.first; chunk < made.last; ++chunk) {
      float slopes[kRepeatedSlopes];
      RegisterFinish at = finish;
      go_to_chunk(chunk, rows.before() * row, slopes, &at);
      for (size_t r = 0; r < tiles.rows; ++r) {
        winograd_finished(tile_, tiles.row(Band{made.first, chunk}.count(), r),
                          tiles.sums_position(), tiles.columns, bias_.data() + chunk * kChunk, at,
                          std::min(step, tiles.result_rows - step * r), shape_.columns.outputs());
        at.to += step * row;
        if (at.addend) at.addend += step * row;
      }
    }
  }
}

void Winograd::execute(const half_t* from, const Finish& finish, Team* team) const {
  const auto in_registers = finishes() ? finish.in_registers(false) : std::nullopt;
  if (!in_registers) return execute_by_rows(*this, from, finish, team);
  for_each_piece(shares(team->size()), out_columns(), false, row_step(), finish, team,
                 [&](const Piece& piece) { run(from, piece.rows, piece.group, *in_registers); });
}

}  // namespace dvnn::softdv
