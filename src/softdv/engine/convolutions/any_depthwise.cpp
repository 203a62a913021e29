// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/any_depthwise.h"

#include <algorithm>

#include "base/aligned.h"
#include "softdv/engine/convolutions/pieces.h"
#include "softdv/engine/finish/pointwise.h"

namespace dvnn::softdv {

AnyDepthwise::AnyDepthwise(const ConvShape& shape, const float* weights, const float* bias,
                           bool overlap)
    : shape_(shape), cuts_(find_cuts(overlap)) {
  const size_t taps = shape.taps();
  bias_.assign(static_cast<size_t>(chunks()) * kPattern, 0);
  weights_.assign(bias_.size() * taps, 0);
  for (size_t y = 0; y < shape.rows.taps(); ++y) {
    for (size_t x = 0; x < shape.columns.taps(); ++x) {
      starts_.push_back(y * shape.rows.tap_step() * row_floats() +
                        x * shape.columns.tap_step() * kChunk);
    }
  }
  for (size_t m = 0; m < shape.outputs(); ++m) {
    const size_t chunk = m / kChunk;
    for (size_t lane = m % kChunk; lane < kPattern; lane += kChunk) {
      bias_[chunk * kPattern + lane] = bias[m];
      for (size_t k = 0; k < taps; ++k) {
        weights_[(chunk * taps + k) * kPattern + lane] = weights[m * taps + k];
      }
    }
  }
}

bool AnyDepthwise::only_scales() const {
  return is_pointwise(shape_.rows) && is_pointwise(shape_.columns) &&
         shape_.out_channels % kChunk == 0;
}

DepthwiseWeights AnyDepthwise::weights_of(int chunk) const {
  const size_t first = static_cast<size_t>(chunk) * kPattern;
  return {&weights_[first * shape_.taps()], &bias_[first]};
}

// Chooses bands of rows whose source stays in the second-level cache.
Cuts AnyDepthwise::find_cuts(bool overlap) const {
  constexpr int64_t kTile = 32 << 10;  // floats
  constexpr int kLeastRows = 8;
  const int rows = shape_.rows.out;
  const int64_t row = int64_t{across().count} * kChunk * shape_.rows.stride;
  Cuts cuts;
  cuts.units = rows;
  cuts.least_bands = static_cast<int>(std::min<int64_t>(rows * row / kTile + 1, rows));
  cuts.most_bands = std::max(1, overlap ? rows / kLeastRows : rows);
  cuts.most_groups = chunks();
  cuts.groups_first = true;
  cuts.macs = static_cast<double>(shape_.taps()) * shape_.out_channels * rows * out_columns();
  return cuts;
}

ChunkResult AnyDepthwise::convolve(const half_t* from, Band rows, int chunk) const {
  const Reach down = reach(shape_.rows, rows, true);
  const size_t width = row_floats(), source = down.places() * width;
  const size_t made_rows = rows.count(), pixels = shape_.columns.outputs();
  static thread_local AlignedFloats buffer;
  float* const tile = buffer.room(source + made_rows * pixels * kChunk);
  float* const results = tile + source;
  load_source(shape_, from, chunk, down, across(), kChunk, tile);

  const DepthwiseWeights by = weights_of(chunk);
  const size_t row_step = shape_.rows.result_step() * width;
  for (size_t r = 0; r < made_rows; ++r) {
    depthwise_of_taps(tile + r * row_step, starts_.data(), starts_.size(),
                      shape_.columns.result_step() * kChunk, by, pixels,
                      results + r * pixels * kChunk);
  }
  return {chunk, 1, results, made_rows * pixels * kChunk};
}

void AnyDepthwise::execute(const half_t* from, const Finish& finish, Team* team) const {
  const auto in_registers = only_scales() ? finish.in_registers(false) : std::nullopt;
  if (in_registers) return scale(from, *in_registers, finish.after(), team);
  execute_by_rows(*this, from, finish, team);
}

void AnyDepthwise::scale(const half_t* from, const RegisterFinish& finish, const RowShape& shape,
                         Team* team) const {
  const int pixels = static_cast<int>(shape.pixels());
  const int bands = std::clamp(pixels * kChunk / kTaskValues, 1, pixels);
  team->run(shape.channels / kChunk * bands, [&](int i) {
    const int chunk = i / bands;
    const Band some = band_of(pixels, i % bands, bands);
    const size_t first = some.before() * kChunk;
    float slopes[kRepeatedSlopes];
    RegisterFinish at = finish;
    go_to_chunk(chunk, first, slopes, &at);
    scale_halves(from + Finish::offset(shape, chunk) + first, some.count() * kChunk,
                 weights_of(chunk), at);
  });
}

}  // namespace dvnn::softdv
