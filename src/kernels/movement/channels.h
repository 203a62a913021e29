// SPDX-License-Identifier: Apache-2.0
// Channels put together from several tensors, in the device's chunks of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

constexpr size_t kMostChunks = 8;

/// Eight channels out of up to eight chunks, each of 8 channels of 16 bits beside one another.
/// Channel i of each pixel is channel `lane[i]` of chunk `chunk[i]`.
struct ChunkSources {
  const uint16_t* chunks[kMostChunks];
  size_t count;  // of chunks
  uint8_t chunk[8], lane[8];
};

/// Writes `pixels` pixels from the first one of each chunk on.
void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to);

namespace plain {
/// The plain form of gather_chunk().
void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to);
}  // namespace plain

}  // namespace dvnn::kernels
