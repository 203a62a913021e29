// SPDX-License-Identifier: Apache-2.0
// A piece of a convolution's result, as convolutions on chunks hand it to their finish.
#pragma once

#include <cstddef>

namespace dvnn::softdv {

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

}  // namespace dvnn::softdv
