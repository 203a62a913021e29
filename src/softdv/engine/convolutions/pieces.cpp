// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/pieces.h"

namespace dvnn::softdv {
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
