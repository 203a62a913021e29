// SPDX-License-Identifier: Apache-2.0
// A piece of a convolution's result, as convolutions on chunks hand it to their finish.
#pragma once

#include <cstddef>
#include <type_traits>

namespace dvnn::softdv {

/// Calls f(channels) with a constant for 1 to 8 channels of a chunk: what copies so few values of
/// each pixel is then several times as fast.
template <typename F>
void with_channels(size_t channels, F f) {
  switch (channels) {
    case 1:
      return f(std::integral_constant<size_t, 1>());
    case 2:
      return f(std::integral_constant<size_t, 2>());
    case 3:
      return f(std::integral_constant<size_t, 3>());
    case 4:
      return f(std::integral_constant<size_t, 4>());
    case 5:
      return f(std::integral_constant<size_t, 5>());
    case 6:
      return f(std::integral_constant<size_t, 6>());
    case 7:
      return f(std::integral_constant<size_t, 7>());
    default:
      return f(std::integral_constant<size_t, 8>());
  }
}

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
