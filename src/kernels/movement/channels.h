// SPDX-License-Identifier: Apache-2.0
// Combines channels of several tensors in the device's chunks of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

constexpr size_t kMostChunks = 8;

/// Sources of a chunk: up to eight chunks of 8 adjacent channels of 16 bits. Channel i of each
/// pixel is channel `lane[i]` of chunk `chunk[i]`.
struct ChunkSources {
  const uint16_t* chunks[kMostChunks];
  size_t count;  // of `chunks`
  uint8_t chunk[8], lane[8];
};

/// Writes `pixels` pixels, from the first pixel of each chunk on.
void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to);

namespace plain {
/// The plain form of gather_chunk().
void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to);
}  // namespace plain

}  // namespace dvnn::kernels
