// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/winograd.h"

#include <algorithm>
#include <cstdlib>

#include "base/environment.h"
#include "softdv/engine/aligned_floats.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/convolutions/source_tile.h"
#include "softdv/engine/convolutions/winograd_kernel.h"

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

WinogradTile tile_of(const ConvShape& shape) {
  return {shape.rows.kernel == 3, shape.columns.kernel == 3};
}

// Multiplies each column of three numbers, `columns` of them side by side, with G of the paper.
void expand(const double* from, size_t columns, double* to) {
  for (size_t x = 0; x < columns; ++x) {
    const double a = from[x], b = from[columns + x], c = from[2 * columns + x];
    to[x] = a;
    to[columns + x] = (a + b + c) / 2;
    to[2 * columns + x] = (a - b + c) / 2;
    to[3 * columns + x] = c;
  }
}

constexpr size_t kMostPositions = 16;

// Computes G g G^T of the paper, or G g along the only axis of the taps.
void transform(const WinogradTile& tile, const float* kernel, double (&to)[kMostPositions]) {
  double values[12];
  std::copy_n(kernel, (tile.down ? 3 : 1) * (tile.across ? 3 : 1), values);
  if (!tile.down || !tile.across) return expand(values, 1, to);
  double down[12];
  expand(values, 3, down);
  for (size_t y = 0; y < 4; ++y) expand(down + 3 * y, 1, to + 4 * y);
}

}  // namespace

bool Winograd::suits(const ConvShape& shape) {
  constexpr int kLeastChannels = 16, kLeastChannelsOfLine = 32, kLeastTiles = 32;
  constexpr int64_t kMostWeights = 3 << 19;
  if (shape.depthwise || is_exact()) return false;
  if (!suits_winograd(shape.rows) || !suits_winograd(shape.columns)) return false;
  const WinogradTile tile = tile_of(shape);
  if (!tile.down && !tile.across) return false;
  const auto positions = static_cast<int64_t>(tile.positions());
  const int64_t across = quotient_up(shape.columns.out, static_cast<int>(tile.columns()));
  const int64_t tiles = across * quotient_up(shape.rows.out, static_cast<int>(tile.rows()));
  const int64_t weights = positions * shape.in_channels * shape.out_channels;
  const int64_t row = positions * shape.in_channels * across;
  const int least = tile.down && tile.across ? kLeastChannels : kLeastChannelsOfLine;
  return shape.in_channels >= least && tiles >= kLeastTiles && weights <= kMostWeights &&
         row <= kLargeTileFloats;
}

Winograd::Winograd(const ConvShape& shape, const float* weights, const float* bias, bool overlap)
    : shape_(shape), tile_(tile_of(shape)) {
  const size_t in = shape.inputs(), out = shape.outputs();
  const size_t taps = shape.taps(), positions = tile_.positions();
  const size_t all = static_cast<size_t>(panels());
  weights_.assign(positions * all * in * kPanel, 0);
  bias_.assign(all * kPanel, 0);
  std::copy(bias, bias + out, bias_.begin());
  for (size_t m = 0; m < out; ++m) {
    for (size_t c = 0; c < in; ++c) {
      double transformed[kMostPositions];
      transform(tile_, weights + (m * in + c) * taps, transformed);
      for (size_t p = 0; p < positions; ++p) {
        weights_[((p * all + m / kPanel) * in + c) * kPanel + m % kPanel] =
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
  cuts.macs = static_cast<double>(row) * tile_rows * shape_.in_channels * shape_.out_channels;
  return cuts;
}

Winograd::Tiles Winograd::load(const half_t* from, Band rows) const {
  const size_t result_rows = rows.count();
  const size_t step_down = tile_.rows(), step_across = tile_.columns();
  const size_t positions = tile_.positions();
  const size_t down = quotient_up(result_rows, step_down), across = tile_columns();
  const size_t count = down * across;
  const size_t all = static_cast<size_t>(chunks());
  // An odd number of cache lines, so that one tile's numbers for all positions use different sets.
  const size_t position = all * count * kChunk + 16;
  const size_t sums = positions * (kPanelsAtOnce * kPanel * count + 16);  // as sums_position()
  const size_t results = kPanelsAtOnce * kPanel * result_rows * shape_.columns.outputs();
  const Band made_down = {rows.first, rows.first + static_cast<int>(step_down * down)};
  const Band made_across = {0, static_cast<int>(step_across * across)};
  const Reach reach_down = reach(shape_.rows, made_down, true);
  const Reach reach_across = reach(shape_.columns, made_across, true);
  const size_t width = reach_across.places() * kChunk;
  const size_t source = reach_down.places() * width;
  const size_t spare = 2 * made_across.count() * kChunk;

  static thread_local AlignedFloats buffer;
  static thread_local std::vector<DirectTap> taps;
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
                 result_rows};
  taps.clear();
  size_t start = 0;
  for (int chunk = 0; chunk < chunks(); ++chunk, start += count * kChunk) {
    load_source(shape_, from, chunk, reach_down, reach_across, kChunk, source_floats);
    for (size_t r = 0; r < down; ++r) {
      winograd_sources(tile_, source_floats + step_down * r * width, width, across,
                       values + start + r * across * kChunk, position);
    }
    taps.push_back({start, shape_.chunk_channels(chunk)});
  }
  tiles.taps = taps.data();
  tiles.tap_count = taps.size();
  return tiles;
}

Band Winograd::multiply(const Tiles& tiles, Band panels) const {
  static constexpr float kNoBias[kPanelsAtOnce * kPanel] = {};
  const size_t own = shape_.inputs() * kPanel;  // number of weights of a panel
  const int all = quotient_up(shape_.out_channels, kChunk);
  const Band made = {panels.first * kPanel / kChunk, std::min(panels.last * kPanel / kChunk, all)};
  const size_t positions = tile_.positions();
  const size_t floats = weights_.size() / positions;
  for (size_t p = 0; p < positions; ++p) {
    const size_t first = p * floats + panels.before() * own;
    FetchedAhead ahead = {};
    if (p + 1 < positions) {
      const auto* const next = reinterpret_cast<const char*>(weights_.data() + first + floats);
      ahead = {next, next + panels.count() * own * sizeof(float)};
    }
    convolve_pixels({tiles.values + p * tiles.position, kChunk, tiles.rows * tiles.columns,
                     tiles.sums + p * tiles.sums_position(), tiles.plane(), nullptr},
                    {tiles.taps, tiles.tap_count, nullptr, weights_.data() + first, own, kNoBias,
                     made.count(), &ahead});
  }
  return made;
}

ChunkResult Winograd::convolve(const Tiles& tiles, Band panels) const {
  const Band made = multiply(tiles, panels);
  const size_t position = tiles.sums_position();
  const size_t row = shape_.columns.outputs() * kChunk, plane = tiles.result_rows * row;
  const size_t step = tile_.rows(), spare_row = tile_.columns() * tiles.columns * kChunk;
  for (size_t chunk = 0; chunk < made.count(); ++chunk) {
    const float* const bias = bias_.data() + (made.before() + chunk) * kChunk;
    for (size_t r = 0; r < tiles.rows; ++r) {
      const float* const sums = tiles.row(chunk, r);
      float* const to = tiles.results + chunk * plane + step * r * row;
      const size_t rows = std::min(step, tiles.result_rows - step * r);
      if (rows == step && spare_row == row) {
        winograd_results(tile_, sums, position, tiles.columns, bias, to, to + row);
        continue;
      }
      float* const spare = tiles.spare;
      winograd_results(tile_, sums, position, tiles.columns, bias, spare, spare + spare_row);
      for (size_t y = 0; y < rows; ++y) std::copy_n(spare + y * spare_row, row, to + y * row);
    }
  }
  return {made.first, made.last - made.first, tiles.results, plane};
}

void Winograd::run(const half_t* from, Band rows, Group group, const RegisterFinish& finish) const {
  const Tiles tiles = load(from, rows);
  const size_t row = shape_.columns.outputs() * kChunk, step = tile_.rows();
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
