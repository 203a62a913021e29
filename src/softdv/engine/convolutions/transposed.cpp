// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/transposed.h"

#include <algorithm>

#include "base/aligned.h"
#include "base/grid.h"
#include "softdv/engine/convolutions/pieces.h"

namespace dvnn::softdv {
namespace {

// One phase along an axis: the results whose index leaves remainder `phase` modulo the gap. Result
// phase + gap * t is the sum over j of tap `first` + gap * j times source sample t - before + j.
struct AxisPhase {
  int first, taps, before, out;

  AxisPhase(const ConvAxis& axis, int phase)
      : first((axis.before - phase + axis.gap) % axis.gap),
        taps(std::max(0, quotient_up(axis.kernel - first, axis.gap))),
        before((axis.before - phase - first) / axis.gap),
        out(std::max(0, quotient_up(axis.out - phase, axis.gap))) {}

  // Without taps, one tap of zeros.
  ConvAxis axis(int in) const { return {in, out, std::max(taps, 1), 1, 1, before, 1}; }
};

// Returns whether all phases along an axis use the same source pixels for as many results.
bool phases_agree(const ConvAxis& axis) {
  const AxisPhase first(axis, 0);
  for (int i = 1; i < axis.gap; ++i) {
    const AxisPhase next(axis, i);
    if (next.taps != first.taps || next.before != first.before || next.out != first.out) {
      return false;
    }
  }
  return true;
}

// Returns the weights of a phase's taps.
std::vector<float> choose_weights(const ConvShape& shape, const AxisPhase& down,
                                  const AxisPhase& across, const float* weights) {
  const size_t kernels = shape.inputs() * shape.outputs();
  const ConvAxis rows = down.axis(1), columns = across.axis(1);
  std::vector<float> chosen;
  chosen.reserve(kernels * rows.taps() * columns.taps());
  for (size_t k = 0; k < kernels; ++k) {
    const float* kernel = weights + k * shape.taps();
    for (int y = 0; y < rows.kernel; ++y) {
      for (int x = 0; x < columns.kernel; ++x) {
        const bool is_there = y < down.taps && x < across.taps;
        const int row = down.first + y * shape.rows.gap;
        const int column = across.first + x * shape.columns.gap;
        chosen.push_back(is_there ? kernel[row * shape.columns.kernel + column] : 0.0f);
      }
    }
  }
  return chosen;
}

}  // namespace

bool Transposed::suits(const ConvShape& shape) {
  const bool gaps = shape.rows.gap > 1 || shape.columns.gap > 1;
  return gaps && !shape.depthwise;
}

Transposed::Transposed(const ConvShape& shape, const float* weights, const float* bias,
                       bool overlap)
    : shape_(shape), cuts_(find_cuts(overlap)) {
  const int phases = shape.rows.gap * shape.columns.gap, channels = shape.out_channels;
  const bool together =
      phases * channels <= kChunk && phases_agree(shape.rows) && phases_agree(shape.columns);
  std::vector<Phase> places;
  std::vector<float> chosen, biases;
  for (int row = 0; row < shape.rows.gap; ++row) {
    for (int column = 0; column < shape.columns.gap; ++column) {
      const AxisPhase down(shape.rows, row), across(shape.columns, column);
      if (down.out == 0 || across.out == 0) continue;
      const std::vector<float> own = choose_weights(shape, down, across, weights);
      places.push_back({row, column});
      chosen.insert(chosen.end(), own.begin(), own.end());
      biases.insert(biases.end(), bias, bias + channels);
      const int made = static_cast<int>(places.size());
      if (together && made < phases) continue;
      const ConvShape part = {down.axis(shape.rows.in), across.axis(shape.columns.in),
                              shape.in_channels, made * channels, false};
      parts_.push_back({std::move(places), Direct(part, chosen.data(), biases.data(), false)});
      places.clear();
      chosen.clear();
      biases.clear();
    }
  }
}

// Chooses pieces whose results stay in the second-level cache until all phases are computed.
Cuts Transposed::find_cuts(bool overlap) const {
  constexpr int64_t kResults = 64 << 10;  // floats
  constexpr int kLeastRows = 8;
  const int rows = shape_.rows.out;
  const int64_t row = int64_t{out_columns()} * quotient_up(shape_.out_channels, kChunk) * kChunk;
  const double taps = static_cast<double>(shape_.rows.kernel) * shape_.columns.kernel /
                      (shape_.rows.gap * shape_.columns.gap);
  Cuts cuts;
  cuts.units = rows;
  cuts.least_bands = static_cast<int>(std::min<int64_t>(rows * row / kResults + 1, rows));
  cuts.most_bands = std::max(1, rows / (overlap ? kLeastRows : row_step()));
  cuts.most_groups = std::max(1, quotient_up(shape_.out_channels, Direct::kGroupChannels));
  cuts.groups_first = overlap;
  cuts.macs = taps * shape_.in_channels * shape_.out_channels * rows * out_columns();
  return cuts;
}

Band Transposed::rows_of(const Part& part, Band rows) const {
  const auto before = [&](int row, int phase) {
    return row <= phase ? 0 : (row - phase - 1) / shape_.rows.gap + 1;
  };
  return {before(rows.first, part.phases.back().row), before(rows.last, part.phases.front().row)};
}

ChunkResult Transposed::room_for(Band rows, Group group) const {
  const Band chunks = parts_.front().convolution.chunks_of(group);
  const size_t plane = rows.count() * shape_.columns.outputs() * kChunk;
  static thread_local AlignedFloats buffer;
  return {chunks.first, chunks.last - chunks.first, buffer.room(chunks.count() * plane), plane};
}

void Transposed::spread(const ChunkResult& made, const Part& part, Band mine, Band rows,
                        const ChunkResult& all) const {
  const size_t columns = static_cast<size_t>(part.convolution.out_columns());
  const size_t step = static_cast<size_t>(shape_.columns.gap) * kChunk;
  const size_t channels = part.phases.size() == 1 ? kChunk : shape_.outputs();
  for (int chunk = made.first_chunk; chunk < made.first_chunk + made.chunks; ++chunk) {
    for (size_t phase = 0; phase < part.phases.size(); ++phase) {
      const Phase& place = part.phases[phase];
      const float* from = made.chunk(chunk) + phase * channels;
      for (int r = mine.first; r < mine.last; ++r, from += columns * kChunk) {
        const int row = place.row + r * shape_.rows.gap;
        if (row < rows.first || row >= rows.last) continue;
        float* const to =
            all.chunk(chunk) + grid_index(place.column, row - rows.first, out_columns()) * kChunk;
        with_channels(channels, [=](auto count) {
          for (size_t c = 0; c < columns; ++c) {
            std::copy_n(from + c * kChunk, count, to + c * step);
          }
        });
      }
    }
  }
}

void Transposed::execute(const half_t* from, const Finish& finish, Team* team) const {
  execute_by_rows(*this, from, finish, team);
}

}  // namespace dvnn::softdv
