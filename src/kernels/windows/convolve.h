// SPDX-License-Identifier: Apache-2.0
// Convolutions in floats, row by row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// Channels that are computed at once, and floats that may be read beyond a row's end.
constexpr size_t kConvolveChannels = 8, kConvolveSlack = 32;

/// A row of up to kConvolveChannels channels: to[m][x] = bias[m] + the sum over k, in that order,
/// of weights[k * kConvolveChannels + m] * source[offsets[k] + x], for x of 0 to count - 1. Reads
/// up to kConvolveSlack floats more of the source.
void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to);

namespace plain {
/// The plain form of convolve_row().
void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to);
}  // namespace plain

}  // namespace dvnn::kernels
