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
  return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.gap == 1;
}

// Computes G g G^T of the paper.
void transform(const float (&kernel)[9], double (&to)[kWinogradPositions]) {
  double rows[4][3];
  auto expand = [](double a, double b, double c, double* out, int step) {
    out[0] = a;
    out[step] = (a + b + c) / 2;
    out[2 * step] = (a - b + c) / 2;
    out[3 * step] = c;
  };
  for (int x = 0; x < 3; ++x) {
    expand(double(kernel[x]), double(kernel[3 + x]), double(kernel[6 + x]), &rows[0][x], 3);
  }
  for (int y = 0; y < 4; ++y) expand(rows[y][0], rows[y][1], rows[y][2], to + 4 * y, 1);
}

}  // namespace

bool Winograd::suits(const ConvShape& shape) {
  constexpr int kLeastChannels = 16, kLeastTiles = 32;
  constexpr int64_t kMostWeights = 3 << 19;
  if (shape.depthwise || is_exact()) return false;
  if (!suits_winograd(shape.rows) || !suits_winograd(shape.columns)) return false;
  const int64_t tiles = (int64_t{shape.rows.out} + 1) / 2 * ((shape.columns.out + 1) / 2);
  const int64_t weights = int64_t{16} * shape.in_channels * shape.out_channels;
  const int64_t row = int64_t{16} * shape.in_channels * ((shape.columns.out + 1) / 2);
  return shape.in_channels >= kLeastChannels && tiles >= kLeastTiles && weights <= kMostWeights &&
         row <= kLargeTileFloats;
}

Winograd::Winograd(const ConvShape& shape, const float* weights, const float* bias, bool overlap)
    : shape_(shape) {
  const size_t in = shape.inputs(), out = shape.outputs();
  const size_t all = static_cast<size_t>(panels());
  weights_.assign(kWinogradPositions * all * in * kPanel, 0);
  bias_.assign(all * kPanel, 0);
  std::copy(bias, bias + out, bias_.begin());
  for (size_t m = 0; m < out; ++m) {
    for (size_t c = 0; c < in; ++c) {
      float kernel[9];
      std::copy_n(weights + (m * in + c) * 9, 9, kernel);
      double transformed[kWinogradPositions];
      transform(kernel, transformed);
      for (size_t p = 0; p < kWinogradPositions; ++p) {
        weights_[((p * all + m / kPanel) * in + c) * kPanel + m % kPanel] =
            static_cast<float>(transformed[p]);
      }
    }
  }
  cuts_ = find_cuts(overlap);
}

Cuts Winograd::find_cuts(bool overlap) const {
  constexpr int kMostGroups = 4, kLeastTileRows = 6, kLeastTiles = 28;
  const int tile_rows = (shape_.rows.out + 1) / 2;
  const auto row = static_cast<int64_t>(kWinogradPositions * tile_columns());
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
  const size_t down = (result_rows + 1) / 2, across = tile_columns(), count = down * across;
  const size_t all = static_cast<size_t>(chunks());
  // An odd number of cache lines, so that one tile's numbers for all positions use different sets.
  const size_t position = all * count * kChunk + 16;
  const size_t sums = kWinogradPositions * (kPanelsAtOnce * kPanel * count + 16);
  const size_t results = kPanelsAtOnce * kPanel * result_rows * shape_.columns.outputs();
  const Reach reach_down = {rows.first - shape_.rows.before, 1, 2 * static_cast<int>(down) + 2};
  const Reach reach_across = {-shape_.columns.before, 1, 2 * static_cast<int>(across) + 2};
  const size_t width = reach_across.places() * kChunk;
  const size_t source = reach_down.places() * width;
  const size_t spare = 2 * width;

  static thread_local AlignedFloats buffer;
  static thread_local std::vector<DirectTap> taps;
  float* const values =
      buffer.room(kWinogradPositions * position + sums + results + source + spare);
  float* const source_floats = values + kWinogradPositions * position + sums + results;
  Tiles tiles = {values,
                 values + kWinogradPositions * position,
                 values + kWinogradPositions * position + sums,
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
      winograd_sources(source_floats + 2 * r * width, width, across,
                       values + start + r * across * kChunk, position);
    }
    taps.push_back({start, shape_.chunk_channels(chunk)});
  }
  tiles.taps = taps.data();
  tiles.tap_count = taps.size();
  return tiles;
}

ChunkResult Winograd::convolve(const Tiles& tiles, Band panels) const {
  static constexpr float kNoBias[kPanelsAtOnce * kPanel] = {};
  const size_t count = tiles.rows * tiles.columns, plane = count * kChunk;
  const size_t own = shape_.inputs() * kPanel;  // number of weights of a panel
  const size_t position = kPanelsAtOnce * kPanel * count + 16;
  const int first_chunk = panels.first * kPanel / kChunk;
  const int all = (shape_.out_channels + kChunk - 1) / kChunk;
  const int made = std::min(panels.last * kPanel / kChunk, all) - first_chunk;
  for (size_t p = 0; p < kWinogradPositions; ++p) {
    const size_t first = p * weights_.size() / kWinogradPositions + panels.before() * own;
    convolve_pixels({tiles.values + p * tiles.position, kChunk, count, tiles.sums + p * position,
                     plane, nullptr},
                    {tiles.taps, tiles.tap_count, nullptr, weights_.data() + first, own, kNoBias,
                     static_cast<size_t>(made)});
  }
  const size_t row = shape_.columns.outputs() * kChunk, result_plane = tiles.result_rows * row;
  const size_t spare_row = 2 * tiles.columns * kChunk;
  for (int k = 0; k < made; ++k) {
    const auto chunk = static_cast<size_t>(k);
    const float* const bias = bias_.data() + (first_chunk + k) * kChunk;
    for (size_t r = 0; r < tiles.rows; ++r) {
      const float* const sums = tiles.sums + chunk * plane + r * tiles.columns * kChunk;
      float* const to = tiles.results + chunk * result_plane + 2 * r * row;
      const size_t rows = std::min<size_t>(2, tiles.result_rows - 2 * r);
      if (rows == 2 && spare_row == row) {
        winograd_results(sums, position, tiles.columns, bias, to, to + row);
        continue;
      }
      winograd_results(sums, position, tiles.columns, bias, tiles.spare, tiles.spare + spare_row);
      for (size_t y = 0; y < rows; ++y) std::copy_n(tiles.spare + y * spare_row, row, to + y * row);
    }
  }
  return {first_chunk, made, tiles.results, result_plane};
}

void Winograd::execute(const half_t* from, const Finish& finish, Team* team) const {
  execute_by_rows(*this, from, finish, team);
}

}  // namespace dvnn::softdv
