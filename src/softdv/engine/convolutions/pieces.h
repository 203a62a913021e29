// SPDX-License-Identifier: Apache-2.0
// How a convolution's result is cut into pieces, and how each is finished.
#pragma once

#include "base/grid.h"
#include "softdv/engine/convolutions/chunk_result.h"
#include "softdv/engine/convolutions/shares.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

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
