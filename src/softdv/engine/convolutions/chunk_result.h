// SPDX-License-Identifier: Apache-2.0
// How convolutions on chunks are shared among threads, and what they hand on.
#pragma once

#include <cstddef>

namespace dvnn::softdv {

/// Some pixels of some chunks of a convolution's result.
struct ChunkResult {
  int first_chunk, chunks;
  float* values;  // chunk by chunk, 8 floats a pixel
  size_t plane;   // floats of a chunk

  /// Where one of them begins, by its number in the whole result.
  float* chunk(int number) const {
    return values + static_cast<size_t>(number - first_chunk) * plane;
  }
};

}  // namespace dvnn::softdv
