// SPDX-License-Identifier: Apache-2.0
// Moves elements: transposes matrices, and combines channels of several tensors in the device's
// chunks of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// Writes to[r * to_stride + c] = from[c * from_stride + r] for each of `rows` and `columns`.
/// Strides are in elements and may be negative; the matrices share no memory.
void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);

inline void transpose(const float* from, ptrdiff_t from_stride, float* to, ptrdiff_t to_stride,
                      size_t rows, size_t columns) {
  transpose(reinterpret_cast<const uint32_t*>(from), from_stride, reinterpret_cast<uint32_t*>(to),
            to_stride, rows, columns);
}
/// Transposes `rows` rows of `columns` floats without gaps.
inline void transpose(const float* from, float* to, size_t rows, size_t columns) {
  transpose(from, static_cast<ptrdiff_t>(columns), to, static_cast<ptrdiff_t>(rows), columns, rows);
}

namespace plain {
/// The plain forms of transpose().
void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
}  // namespace plain

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
