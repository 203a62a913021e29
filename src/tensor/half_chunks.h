// SPDX-License-Identifier: Apache-2.0
// Conversions of binary16 in chunks of the device's channels to matrices of floats, and back.
#pragma once

#include <cstddef>

#include "tensor/half.h"

namespace dvnn {

/// Values of a chunk. Chunks of halves have no gaps between them.
constexpr size_t kHalfChunk = 8;

/// Converts `count` chunks to chunks of floats that begin `stride` floats apart.
void chunks_to_float(const half_t* from, float* to, size_t stride, size_t count);
/// Converts `count` chunks to columns of floats: value k of chunk i goes to to[k * stride + i].
void chunks_to_columns(const half_t* from, float* to, size_t stride, size_t count);
/// Rounds chunks of floats that begin `stride` floats apart, each times its factor, as
/// float_to_half() does.
void float_to_chunks(const float* from, size_t stride, const float* factors, half_t* to,
                     size_t count);

}  // namespace dvnn
