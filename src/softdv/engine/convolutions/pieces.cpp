// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/pieces.h"

#include <algorithm>

#include "softdv/engine/rows.h"

namespace dvnn::softdv {

Shares choose_shares(const Cuts& cuts, int threads) {
  constexpr double kShareMacs = 1e5, kManyMacs = 2e7;
  constexpr int kMostShares = 4, kFewShares = 2;  // of a thread
  int wanted = 1;
  if (threads > 1) {
    // Short work loses more by reading weights and source again than it gains by even shares.
    const int own = cuts.macs >= kManyMacs ? kMostShares : cuts.mostly_weights ? 1 : kFewShares;
    wanted = static_cast<int>(
        std::clamp(cuts.macs / kShareMacs, 1.0, static_cast<double>(own * threads)));
    if (wanted > 1) wanted = quotient_up(wanted, threads) * threads;
  }
  Shares shares = {std::min(cuts.least_bands, cuts.units), 1};
  if (cuts.groups_first) {
    shares.groups = std::min(cuts.most_groups, quotient_up(wanted, shares.bands));
  }
  shares.bands =
      std::max(shares.bands, std::min(cuts.most_bands, quotient_up(wanted, shares.groups)));
  shares.groups =
      std::max(shares.groups, std::min(cuts.most_groups, quotient_up(wanted, shares.bands)));
  // The same number of shares for each thread.
  const int all = shares.bands * shares.groups;
  if (all > 1 && all < wanted + threads && all % threads != 0) {
    shares.bands = std::min(quotient_up(shares.bands, threads) * threads, cuts.units);
  }
  return shares;
}

namespace {

// Packs pixels of 8 floats into pixels of `channels` floats, in place.
void close_up(float* values, size_t pixels, size_t channels) {
  with_channels(channels, [=](auto count) {
    for (size_t i = 1; count < kChunk && i < pixels; ++i) {
      std::copy_n(values + i * kChunk, count, values + i * count);
    }
  });
}

}  // namespace

void finish_piece(const Finish& finish, const Piece& piece, const ChunkResult& result) {
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

}  // namespace dvnn::softdv
