// SPDX-License-Identifier: Apache-2.0
#include "softdv/convolutions/any_depthwise.h"

#include <algorithm>

#include "softdv/aligned_floats.h"
#include "softdv/convolutions/source_tile.h"

namespace dvnn::softdv {

AnyDepthwise::AnyDepthwise(const ConvShape& shape, const float* weights, const float* bias,
                           bool overlap)
    : shape_(shape), cuts_(find_cuts(overlap)) {
  const auto channels = static_cast<size_t>(shape.out_channels);
  const auto count = static_cast<size_t>(chunks());
  weights_.assign(count * taps() * kPattern, 0);
  bias_.assign(count * kPattern, 0);
  for (int y = 0; y < shape.rows.kernel; ++y) {
    for (int x = 0; x < shape.columns.kernel; ++x) {
      starts_.push_back(static_cast<size_t>(y * shape.rows.dilation) * row_floats() +
                        static_cast<size_t>(x * shape.columns.dilation) * kChunk);
    }
  }
  for (size_t m = 0; m < channels; ++m) {
    const size_t chunk = m / kChunk;
    for (size_t lane = m % kChunk; lane < kPattern; lane += kChunk) {
      bias_[chunk * kPattern + lane] = bias[m];
      for (size_t k = 0; k < taps(); ++k) {
        weights_[(chunk * taps() + k) * kPattern + lane] = weights[m * taps() + k];
      }
    }
  }
}

size_t AnyDepthwise::row_floats() const {
  return static_cast<size_t>(reach(shape_.columns, 0, shape_.columns.out, true).count) * kChunk;
}

// Rows whose source stays in the second-level cache.
Cuts AnyDepthwise::find_cuts(bool overlap) const {
  constexpr int64_t kTile = 32 << 10;  // floats
  constexpr int kLeastRows = 8;
  const int rows = shape_.rows.out;
  const Reach across = reach(shape_.columns, 0, shape_.columns.out, true);
  const int64_t row = int64_t{across.count} * kChunk * shape_.rows.stride;
  Cuts cuts;
  cuts.units = rows;
  cuts.least_bands = static_cast<int>(std::min<int64_t>(rows * row / kTile + 1, rows));
  cuts.most_bands = std::max(1, overlap ? rows / kLeastRows : rows);
  cuts.most_groups = chunks();
  cuts.groups_first = true;
  cuts.macs = static_cast<double>(taps()) * shape_.out_channels * rows * out_columns();
  return cuts;
}

ChunkResult AnyDepthwise::convolve(const half_t* from, Band rows, int chunk) const {
  const Reach down = reach(shape_.rows, rows.first, rows.last, true);
  const Reach across = reach(shape_.columns, 0, shape_.columns.out, true);
  const size_t width = row_floats();
  const size_t source = static_cast<size_t>(down.count) * width;
  const auto made_rows = static_cast<size_t>(rows.last - rows.first);
  const auto pixels = static_cast<size_t>(shape_.columns.out);
  static thread_local AlignedFloats buffer;
  float* const tile = buffer.room(source + made_rows * pixels * kChunk);
  float* const results = tile + source;
  load_source(shape_, from, chunk, down, across, kChunk, tile);

  const auto first = static_cast<size_t>(chunk) * kPattern;
  const DepthwiseWeights by = {&weights_[first * taps()], &bias_[first]};
  const size_t row_step = static_cast<size_t>(shape_.rows.stride) * width;
  for (size_t r = 0; r < made_rows; ++r) {
    depthwise_of_taps(tile + r * row_step, starts_.data(), starts_.size(),
                      static_cast<size_t>(shape_.columns.stride) * kChunk, by, pixels,
                      results + r * pixels * kChunk);
  }
  return {chunk, 1, results, made_rows * pixels * kChunk};
}

}  // namespace dvnn::softdv
