// SPDX-License-Identifier: Apache-2.0
#include "softdv/runs/chunk_run.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/grid.h"
#include "kernels/elementwise.h"
#include "softdv/aligned_floats.h"
#include "softdv/runs/reduction.h"

namespace dvnn::softdv {
namespace {

constexpr int kChunk = 8;
constexpr int kTaskValues = 1 << 14;  // that are worth a piece of their own

// Takes the convolution's floats of one chunk to the run's result.
class Finish {
 public:
  Finish(const ChunkRun& chunk_run, const half_t* operand, half_t* to)
      : run_(chunk_run.run),
        slopes_(chunk_run.kernel && !chunk_run.kernel->slopes().empty()
                    ? chunk_run.kernel->slopes().data()
                    : nullptr),
        reduction_(run_, chunk_run.hwc),
        before_(row_shape(run_.conv, chunk_run.hwc)),
        after_(row_shape(run_.out, chunk_run.hwc)),
        operand_(operand),
        to_(to) {}

  const Reduction& reduction() const { return reduction_; }
  const RowShape& before() const { return before_; }
  const RowShape& after() const { return after_; }
  int chunks() const { return (before_.channels + kChunk - 1) / kChunk; }
  // The size of one of them alone, of the tensor before the reduction or after it.
  static RowShape part(RowShape shape, int chunk) {
    shape.channels = std::min(kChunk, shape.channels - chunk * kChunk);
    return shape;
  }

  // Elements before a chunk.
  static size_t offset(const RowShape& shape, int chunk) {
    return static_cast<size_t>(chunk) * kChunk * shape.pixels();
  }

  // Adds to `count` values from element `at` on what is added before the reduction.
  void add_before(size_t at, size_t count, float* values) const {
    if (reduction_.follows_addition()) add(at, count, values);
  }

  // `count` pixels from `pixel` on that are reduced if they are to be; the floats are changed.
  void pixels(int chunk, size_t pixel, size_t count, float* values) const {
    const size_t channels = part(after_, chunk).pixel();
    const size_t at = offset(after_, chunk) + pixel * channels;
    if (!reduction_.follows_addition()) add(at, count * channels, values);
    store(chunk, at, count, values);
  }

  // Rows `band` of the result, from the convolution's rows `made`; the floats are changed.
  void rows(int chunk, Band band, Band made, float* values) const {
    const RowShape in = part(before_, chunk), out = part(after_, chunk);
    add_before(offset(before_, chunk) + made.before() * in.row(), made.count() * in.row(), values);
    static thread_local AlignedFloats buffer;
    float* const reduced = buffer.room(band.count() * out.row());
    reduction_.apply({values, made.first}, in, reduced, out, band);
    const size_t row = out.row_pixels();
    pixels(chunk, band.before() * row, band.count() * row, reduced);
  }

 private:
  void add(size_t at, size_t count, float* values) const {
    if (!operand_) return;
    static thread_local AlignedFloats buffer;
    float* const floats = buffer.room(count);
    half_to_float(operand_ + at, floats, count);
    kernels::operate(kernels::Operation::kAdd, values, floats, values, count);
  }

  void store(int chunk, size_t at, size_t pixels, float* values) const {
    const RowShape shape = {1, static_cast<int>(pixels), part(after_, chunk).channels};
    activate(run_.run.activation, run_.run.activation_param,
             slopes_ ? slopes_ + chunk * kChunk : nullptr, run_.absolute, shape, {0, 1}, values);
    float_to_half(values, to_ + at, shape.size());
  }

  const SoftRun& run_;
  const float* slopes_;
  const Reduction reduction_;
  const RowShape before_, after_;
  const half_t* operand_;
  half_t* to_;
};

// Pixels of 8 floats to pixels of fewer channels, in place.
void close_up(float* values, size_t pixels, size_t channels) {
  for (size_t i = 1; channels < kChunk && i < pixels; ++i) {
    std::copy_n(values + i * kChunk, channels, values + i * channels);
  }
}

// Returns what follows the convolution, if that can be done while the sums are in registers.
std::optional<RegisterFinish> finish_in_registers(const ChunkRun& chunk_run, const half_t* operand,
                                                  half_t* to) {
  using device::Activation;
  const SoftRun& run = chunk_run.run;
  const ConvKernel* const kernel = chunk_run.kernel;
  const Activation activation = run.run.activation;
  RegisterFinish finish = {};
  finish.to = to;
  finish.addend = operand;
  finish.plane = row_shape(run.out, chunk_run.hwc).pixels() * kChunk;
  finish.slope = run.run.activation_param;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
    case Activation::kPrelu:
      finish.activation = RegisterActivation::kSloped;
      if (activation == Activation::kPrelu) finish.slopes = kernel->slopes().data();
      break;
    case Activation::kRelu6:
      finish.activation = RegisterActivation::kRelu6;
      break;
    default:
      return std::nullopt;
  }
  const bool absolute = run.absolute && activation != Activation::kRelu;
  const bool finishes = !kernel                   ? run.out.c % kChunk == 0
                        : kernel->direct()        ? kernel->direct()->finishes()
                        : kernel->any_depthwise() ? kernel->any_depthwise()->only_scales()
                                                  : kernel->depthwise()->finishes();
  if (absolute || !finishes) return std::nullopt;
  const Reduction reduction(run, chunk_run.hwc);
  if (!reduction.on()) return finish;
  const RowShape before = row_shape(run.conv, chunk_run.hwc);
  const RowShape after = row_shape(run.out, chunk_run.hwc);
  const bool pools = kernel && kernel->depthwise() && kernel->depthwise()->pools() && !operand;
  if (!pools || !reduction.halves(before, after)) return std::nullopt;
  return finish;
}

// The pieces of a convolution.
struct Piece {
  Band band, rows, columns;  // of the run's result; of the convolution's
  Group group;
  size_t first, pixels;  // of the convolution's result
};

// `one_row`: bands are of the columns of the result's only row. `step`: rows that go together.
template <typename F>
void for_each_piece(Shares shares, int columns, bool one_row, int step, const Finish& finish,
                    Team* team, F f) {
  const bool reduced = finish.reduction().on();
  const int units = one_row ? columns : finish.after().rows;
  const int steps = reduced ? units : (units + step - 1) / step;
  const int bands = std::min(shares.bands, steps), unit = reduced ? 1 : step;
  team->run(bands * shares.groups, [&](int i) {
    const Band some = band_of(steps, i / shares.groups, bands);
    Piece piece;
    piece.band = {some.first * unit, std::min(some.last * unit, units)};
    piece.group = {i % shares.groups, shares.groups};
    piece.rows = one_row   ? Band{0, 1}
                 : reduced ? finish.reduction().input_rows(finish.before(), piece.band)
                           : piece.band;
    piece.columns = one_row ? piece.band : Band{0, columns};
    piece.first = grid_index(piece.columns.first, piece.rows.first, columns);
    piece.pixels = piece.rows.count() * piece.columns.count();
    f(piece);
  });
}

void finish_floats(const Finish& finish, const Piece& piece, const ChunkResult& result) {
  for (int k = 0; k < result.chunks; ++k) {
    const int chunk = result.first_chunk + k;
    float* const values = result.chunk(chunk);
    close_up(values, piece.pixels, Finish::part(finish.before(), chunk).pixel());
    if (finish.reduction().on()) {
      finish.rows(chunk, piece.band, piece.rows, values);
    } else {
      finish.pixels(chunk, piece.first, piece.pixels, values);
    }
  }
}

void run_direct(const Direct& direct, const half_t* from, const Finish& finish,
                const std::optional<RegisterFinish>& in_registers, Team* team) {
  const bool one_row = direct.is_one_row() && !finish.reduction().on();
  for_each_piece(direct.shares(team->size()), direct.out_columns(), one_row,
                 one_row ? Direct::kPixels : 1, finish, team, [&](const Piece& piece) {
                   if (in_registers) {
                     return direct.run(from, piece.rows, piece.columns, piece.group, *in_registers);
                   }
                   direct.run(
                       from, piece.rows, piece.columns, piece.group,
                       [&](const ChunkResult& result) { finish_floats(finish, piece, result); });
                 });
}

// One whose pieces are whole rows: Winograd, Transposed or AnyDepthwise.
template <typename Convolution>
void run_rows(const Convolution& convolution, const half_t* from, const Finish& finish,
              Team* team) {
  for_each_piece(convolution.shares(team->size()), convolution.out_columns(), false,
                 convolution.row_step(), finish, team, [&](const Piece& piece) {
                   convolution.run(from, piece.rows, piece.group, [&](const ChunkResult& result) {
                     finish_floats(finish, piece, result);
                   });
                 });
}

// A depthwise convolution is cut like this: `bands` of rows, each by `groups` of chunks.
Shares share_depthwise(int threads, int rows, int chunks) {
  constexpr int kSharesOfThread = 2, kLeastRows = 4;
  if (threads == 1) return {1, 1};
  // A thread rather takes the rows of all chunks that it has made, and will read, in other
  // commands.
  const int wanted = kSharesOfThread * threads;
  int bands = std::clamp(rows / kLeastRows, 1, threads);
  const int groups = std::min(chunks, (wanted + bands - 1) / bands);
  if (bands * groups < wanted) bands = std::clamp(rows / kLeastRows, 1, wanted / groups);
  return {bands, groups};
}

void run_depthwise(const Depthwise& depthwise, const half_t* from, const Finish& finish,
                   const std::optional<RegisterFinish>& in_registers, Team* team) {
  const int rows = finish.after().rows, chunks = depthwise.chunks();
  const int values = static_cast<int>(finish.before().pixels()) * kChunk;
  auto convolve = [&](int chunk, Band band) {
    if (in_registers && finish.reduction().on()) {
      return depthwise.run_pooled(from, chunk, band, finish.after().row_pixels(), *in_registers);
    }
    if (in_registers) return depthwise.run(from, chunk, band, *in_registers);
    if (!finish.reduction().on()) {
      return depthwise.run(from, chunk, band, [&](Band made, float* floats) {
        const size_t row = finish.after().row_pixels();
        finish.pixels(chunk, made.before() * row, made.count() * row, floats);
      });
    }
    const Band reads = finish.reduction().input_rows(finish.before(), band);
    const size_t row_floats = Finish::part(finish.before(), chunk).row();
    static thread_local AlignedFloats buffer;
    float* const all = buffer.room(reads.count() * row_floats + Depthwise::kBeyond);
    depthwise.run(from, chunk, reads, all);
    finish.rows(chunk, band, reads, all);
  };
  // A row at a time stays in the cache; all rows that are reduced at a time do not.
  const bool by_rows = in_registers || !finish.reduction().on();
  const Shares shares = by_rows ? share_depthwise(team->size(), rows, chunks)
                                : Shares{std::clamp(values / kTaskValues, 1, rows), chunks};
  team->run(shares.bands * shares.groups, [&](int i) {
    const Band some = band_of(chunks, i % shares.groups, shares.groups);
    const Band band = band_of(rows, i / shares.groups, shares.bands);
    for (int chunk = some.first; chunk < some.last; ++chunk) convolve(chunk, band);
  });
}

// A sum or an activation alone.
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

// A depthwise convolution that only scales.
void run_scaling(const AnyDepthwise& depthwise, const half_t* from, const RowShape& shape,
                 const RegisterFinish& finish, Team* team) {
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
                 depthwise.weights_of(chunk), at);
  });
}

// Whole chunks of every pixel twice in both directions, as they are.
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

// Any other run without a convolution.
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

void run_without_convolution(const ChunkRun& chunk_run, const half_t* from, const Finish& finish,
                             const half_t* operand, half_t* to, Team* team) {
  const SoftRun& run = chunk_run.run;
  const auto in_registers = finish_in_registers(chunk_run, operand, to);
  if (in_registers) return run_pixels(from, finish.after(), *in_registers, team);
  const bool repeats = run.run.pool == device::PoolKind::kUpsample && !operand &&
                       run.run.activation == device::Activation::kNone && !run.absolute;
  if (repeats && run.out.c % kChunk == 0) {
    return run_upsampling(from, finish.before(), finish.after(), to, team);
  }
  run_reduction(from, finish, team);
}

// A normalisation, for which the channels of a pixel, a multiple of 16, come together.
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
    float* const values = buffer.room(plane + 2 * row.size());  // of one chunk
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
  const Finish finish(*this, operand, to);
  if (!kernel && !finish.reduction().keeps_channels_apart()) {
    return run_normalisation(from, finish, team);
  }
  if (!kernel) return run_without_convolution(*this, from, finish, operand, to, team);
  if (kernel->winograd()) return run_rows(*kernel->winograd(), from, finish, team);
  if (kernel->transposed()) return run_rows(*kernel->transposed(), from, finish, team);
  const auto in_registers = finish_in_registers(*this, operand, to);
  if (kernel->any_depthwise() && in_registers) {
    return run_scaling(*kernel->any_depthwise(), from, finish.after(), *in_registers, team);
  }
  if (kernel->any_depthwise()) return run_rows(*kernel->any_depthwise(), from, finish, team);
  if (kernel->direct()) return run_direct(*kernel->direct(), from, finish, in_registers, team);
  run_depthwise(*kernel->depthwise(), from, finish, in_registers, team);
}

}  // namespace dvnn::softdv
