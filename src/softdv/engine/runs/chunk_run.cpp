// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/runs/chunk_run.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "base/grid.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/finish/pointwise.h"

namespace dvnn::softdv {
namespace {

// Runs a sum or an activation alone.
void run_pixels(const half_t* from, const RowShape& shape, const RegisterFinish& finish,
                Team* team) {
  const int values = static_cast<int>(shape.size());
  const int tasks = std::max(1, values / kTaskValues);
  team->run(tasks, [&](int i) {
    const Band some = band_of(values / kChunk, i, tasks);
    const size_t first = some.before() * kChunk;
    RegisterFinish at = finish;
    at.to += first;
    if (at.addend) at.addend += first;
    finish_halves(from + first, some.count() * kChunk, at);
  });
}

// Copies whole chunks of every pixel twice in both directions.
void run_upsampling(const half_t* from, const RowShape& before, const RowShape& after, half_t* to,
                    Team* team) {
  using Pixel = std::array<half_t, kChunk>;
  const auto* const source = reinterpret_cast<const Pixel*>(from);
  auto* const result = reinterpret_cast<Pixel*>(to);
  const size_t columns = after.row_pixels();
  const int rows = after.channels / kChunk * after.rows;
  const int tasks = std::clamp(static_cast<int>(after.size()) / kTaskValues, 1, rows);
  team->run(tasks, [&](int i) {
    const Band some = band_of(rows, i, tasks);
    for (int r = some.first; r < some.last; ++r) {
      const int chunk = r / after.rows, row = r % after.rows / 2;
      const Pixel* const pixels = source + grid_index(0, chunk * before.rows + row, before.cols);
      Pixel* const made = result + grid_index(0, r, after.cols);
      for (size_t c = 0; c < columns; ++c) made[c] = pixels[c / 2];
    }
  });
}

// Runs a maximum pooling without other operations.
void run_max_pooling(const half_t* from, const Finish& finish, const PoolWindow& window, half_t* to,
                     Team* team) {
  RowShape in = finish.before(), out = finish.after();
  in.channels = out.channels = kChunk;
  const int bands = std::clamp(static_cast<int>(in.size()) / kTaskValues, 1, out.rows);
  team->run(finish.chunks() * bands, [&](int i) {
    const size_t chunk = static_cast<size_t>(i / bands);
    const Band band = band_of(out.rows, i % bands, bands);
    max_pool_halves(from + chunk * in.size(), in, window,
                    to + chunk * out.size() + band.before() * out.row(), out, band);
  });
}

// Runs any other run without a convolution.
void run_reduction(const half_t* from, const Finish& finish, Team* team) {
  const RowShape &before = finish.before(), &after = finish.after();
  const int values = static_cast<int>(before.pixels()) * kChunk;
  const int bands = std::clamp(values / kTaskValues, 1, after.rows);
  team->run(finish.chunks() * bands, [&](int i) {
    const int chunk = i / bands;
    const Band band = band_of(after.rows, i % bands, bands);
    const bool reduced = finish.reduction().on();
    const Band reads = reduced ? finish.reduction().input_rows(before, band) : band;
    const size_t row = Finish::part(before, chunk).row(), columns = before.row_pixels();
    const size_t count = reads.count() * row;
    const size_t start = Finish::offset(before, chunk) + reads.before() * row;
    static thread_local AlignedFloats buffer;
    float* const floats = buffer.room(count);
    half_to_float(from + start, floats, count);
    if (reduced) return finish.rows(chunk, band, reads, floats);
    finish.pixels(chunk, band.before() * columns, band.count() * columns, floats);
  });
}

void run_without_convolution(const Run& run, const half_t* from, const Finish& finish,
                             const half_t* operand, half_t* to, const Chain* chain, Team* team) {
  const bool whole_chunks = run.out.c % kChunk == 0;
  const auto in_registers = whole_chunks ? finish.in_registers(false) : std::nullopt;
  if (in_registers) return run_pixels(from, finish.after(), *in_registers, team);
  const bool alone = whole_chunks && !operand && !run.absolute && !chain &&
                     run.run.activation == device::Activation::kNone;
  if (alone && run.run.pool == device::PoolKind::kUpsample) {
    return run_upsampling(from, finish.before(), finish.after(), to, team);
  }
  const PoolWindow* const window = finish.reduction().largest_of();
  if (alone && window) return run_max_pooling(from, finish, *window, to, team);
  run_reduction(from, finish, team);
}

// Runs a normalisation, for which a pixel's channels, a multiple of 16, are brought together.
void run_normalisation(const half_t* from, const Finish& finish, Team* team) {
  constexpr int kTaskPixels = 64;
  const int pixels = static_cast<int>(finish.before().pixels());
  const int tasks = (pixels + kTaskPixels - 1) / kTaskPixels;
  const size_t channels = finish.before().pixel();
  team->run(tasks, [&](int i) {
    const Band some = band_of(pixels, i, tasks);
    const size_t first = some.before(), count = some.count(), plane = count * kChunk;
    const RowShape row = {1, some.last - some.first, finish.before().channels};
    static thread_local AlignedFloats buffer;
    float* const values = buffer.room(plane + 2 * row.size());  // room for one chunk
    float* const together = values + plane;
    float* const made = together + row.size();
    for (int chunk = 0; chunk < finish.chunks(); ++chunk) {
      const size_t start = Finish::offset(finish.before(), chunk) + first * kChunk;
      half_to_float(from + start, values, plane);
      finish.add_before(start, plane, values);
      float* const to = together + chunk * kChunk;
      for (size_t k = 0; k < count; ++k) {
        std::copy_n(values + k * kChunk, kChunk, to + k * channels);
      }
    }
    finish.reduction().apply({together, 0}, row, made, row, {0, 1});
    for (int chunk = 0; chunk < finish.chunks(); ++chunk) {
      const float* const normalised = made + chunk * kChunk;
      for (size_t k = 0; k < count; ++k) {
        std::copy_n(normalised + k * channels, kChunk, values + k * kChunk);
      }
      finish.pixels(chunk, first, count, values);
    }
  });
}

}  // namespace

void ChunkRun::execute(const half_t* from, const half_t* operand, half_t* to, Team* team) const {
  const float* const slopes = kernel ? kernel->slopes() : nullptr;
  const Finish finish(run, hwc, slopes, operand, to, chain, sample);
  if (kernel) return kernel->convolution().execute(from, finish, team);
  if (!finish.reduction().keeps_channels_apart()) return run_normalisation(from, finish, team);
  run_without_convolution(run, from, finish, operand, to, chain, team);
}

}  // namespace dvnn::softdv
