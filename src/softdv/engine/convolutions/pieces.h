// SPDX-License-Identifier: Apache-2.0
// How a convolution's result is cut into pieces, for the cache and for the threads, and how each is
// finished.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/grid.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

/// `bands` of rows (of pixels if there is one row), each cut into `groups` of the result's chunks.
struct Shares {
  int bands, groups;
};

/// Group `index` of `count`.
struct Group {
  int index, count;
};

/// Limits for cutting a convolution.
struct Cuts {
  int units;          // rows, or pixels of the only row: the largest number of bands
  int least_bands;    // the fewest that fit the cache
  int most_bands;     // the most that are large enough to be worth a share
  int most_groups;    // the most; each group reads all of its band's source
  bool groups_first;  // cut groups before bands: the source is read again rather than the weights
  double macs;        // multiplications of the whole convolution
  bool mostly_weights = false;  // a whole source has fewer values than the weights
};

/// Chooses the cut. One thread needs only what the cache asks for. More threads take several shares
/// each, so that one delayed thread does not delay the others, but none too small to be worth its
/// overhead.
Shares choose_shares(const Cuts& cuts, int threads);

// Calls f(channels) if it is one of 1 to sizeof...(kBelow); returns whether it did.
template <size_t... kBelow, typename F>
bool with_one_of(std::index_sequence<kBelow...>, size_t channels, F f) {
  return ((channels == kBelow + 1 && (f(std::integral_constant<size_t, kBelow + 1>()), true)) ||
          ...);
}

/// Calls f(channels) with a constant for 1 to 8 channels of a chunk: what copies so few values of
/// each pixel is then several times as fast.
template <typename F>
void with_channels(size_t channels, F f) {
  with_one_of(std::make_index_sequence<8>(), channels, f);
}

/// Some pixels of some chunks of a convolution's result.
struct ChunkResult {
  int first_chunk, chunks;
  float* values;  // chunk by chunk, 8 floats per pixel
  size_t plane;   // floats per chunk

  /// Returns where a chunk begins, by its number in the whole result.
  float* chunk(int number) const {
    return values + static_cast<size_t>(number - first_chunk) * plane;
  }
};

/// A part of the result, which one thread computes and finishes.
struct Piece {
  Band band, rows, columns;  // band of the run's result; rows and columns of the convolution's
  Group group;
  size_t first, pixels;  // pixels of the convolution's result
};

/// Calls f(piece) for each piece, on some thread. `one_row`: the result has one row, and bands are
/// of its columns. `step`: rows that bands keep together.
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

/// Writes some chunks of a piece, finished, to the run's result.
void finish_piece(const Finish& finish, const Piece& piece, const ChunkResult& result);

/// Executes a convolution by pieces of whole rows, by its shares(), out_columns(), row_step() and
/// run().
template <typename RowConvolution>
void execute_by_rows(const RowConvolution& convolution, const half_t* from, const Finish& finish,
                     Team* team) {
  for_each_piece(convolution.shares(team->size()), convolution.out_columns(), false,
                 convolution.row_step(), finish, team, [&](const Piece& piece) {
                   convolution.run(from, piece.rows, piece.group, [&](const ChunkResult& result) {
                     finish_piece(finish, piece, result);
                   });
                 });
}

}  // namespace dvnn::softdv
