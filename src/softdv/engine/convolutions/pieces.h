// SPDX-License-Identifier: Apache-2.0
// How a convolution's result is cut into pieces, and each handed to what follows.
#pragma once

#include "base/grid.h"
#include "softdv/engine/convolutions/chunk_result.h"
#include "softdv/engine/convolutions/shares.h"
#include "softdv/engine/finish/finish.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

struct Piece {
  Band band, rows, columns;  // of the run's result; of the convolution's
  Group group;
  size_t first, pixels;  // of the convolution's result
};

/// Calls f(piece) for each, on some thread. `one_row`: bands are of the columns of the result's
/// only row. `step`: rows that go together.
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

/// Takes some chunks of a piece to the run's result.
void finish_piece(const Finish& finish, const Piece& piece, const ChunkResult& result);

/// Executes a convolution whose pieces are whole rows: it has shares(), out_columns(), row_step()
/// and run().
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
