// SPDX-License-Identifier: Apache-2.0
// A piece of a convolution's result, as convolutions on chunks hand it to their finish.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace dvnn::softdv {

template <size_t... kBelow, typename F>
bool with_one_of(std::index_sequence<kBelow...>, size_t channels, F f) {
  return ((channels == kBelow + 1 && (f(std::integral_constant<size_t, kBelow + 1>()), true)) ||
          ...);
}

/// Calls f(channels) with a constant for 1 to 8 channels of a chunk: what copies so few values of
/// each pixel is then several times as fast.
template <typename F>
void with_channels(size_t channels, F f) {
  with_one_of(std::make_index_sequence<8>(), channels, f);
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
