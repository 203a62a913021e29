// SPDX-License-Identifier: Apache-2.0
// How attention reads and writes the channels of a head, in the memory of pictures of one row: of
// planes of floats, or of the device's chunks of binary16, in which a token's channels lie side by
// side. Private to attention.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/movement/movement.h"
#include "tensor/half.h"

namespace dvnn::layers {

/// Some channels of some tokens: the first ones, and how many. Tokens follow one another in the
/// order of `places`, the pixels where they lie; null: they lie in their order.
struct HeadPart {
  size_t channel, channels, token, tokens;
  const int* places = nullptr;

  size_t place(size_t i) const {
    return places ? static_cast<size_t>(places[token + i]) : token + i;
  }
};

/// Planes: each channel has a line of `pixels` tokens.
class PlaneTokens {
 public:
  using Element = float;
  PlaneTokens(const float* first, size_t pixels) : first_(first), pixels_(pixels) {}

  /// Copies the part to a matrix (channels, tokens), whose rows begin `stride` floats apart.
  void by_channel(const HeadPart& part, float* to, size_t stride) const {
    for (size_t c = 0; c < part.channels; ++c, to += stride) {
      if (!part.places) {
        std::copy_n(line(part) + c * pixels_, part.tokens, to);
        continue;
      }
      const float* from = first_ + (part.channel + c) * pixels_;
      for (size_t i = 0; i < part.tokens; ++i) to[i] = from[part.place(i)];
    }
  }
  /// Copies the part to a row-major matrix (tokens, channels).
  void by_token(const HeadPart& part, float* to) const {
    for (size_t i = 0; part.places && i < part.tokens; ++i) {
      const float* from = first_ + part.channel * pixels_ + part.place(i);
      for (size_t c = 0; c < part.channels; ++c) *to++ = from[c * pixels_];
    }
    if (part.places) return;
    kernels::transpose(line(part), static_cast<ptrdiff_t>(pixels_), to,
                       static_cast<ptrdiff_t>(part.channels), part.tokens, part.channels);
  }
  /// Writes such a matrix, each row times its factor, to the part of a picture that begins at
  /// `first`.
  static void put(float* from, const float* factors, const HeadPart& part, float* first,
                  size_t pixels) {
    for (size_t i = 0; i < part.tokens; ++i) {
      for (size_t c = 0; c < part.channels; ++c) from[i * part.channels + c] *= factors[i];
    }
    for (size_t i = 0; part.places && i < part.tokens; ++i) {
      float* const to = first + part.channel * pixels + part.place(i);
      for (size_t c = 0; c < part.channels; ++c) to[c * pixels] = *from++;
    }
    if (part.places) return;
    kernels::transpose(from, static_cast<ptrdiff_t>(part.channels),
                       first + part.channel * pixels + part.token, static_cast<ptrdiff_t>(pixels),
                       part.channels, part.tokens);
  }

 private:
  const float* line(const HeadPart& part) const {
    return first_ + part.channel * pixels_ + part.token;
  }

  const float* first_;
  size_t pixels_;
};

/// Chunks: 8 channels of each of `pixels` tokens. Parts have whole chunks.
class ChunkTokens {
 public:
  using Element = half_t;
  static constexpr size_t kChunk = kHalfChunk;
  ChunkTokens(const half_t* first, size_t pixels) : first_(first), pixels_(pixels) {}

  void by_channel(const HeadPart& part, float* to, size_t stride) const {
    visit(part, [&](size_t c, size_t t, size_t count, const half_t* some) {
      chunks_to_columns(some, to + c * stride + t, stride, count);
    });
  }
  void by_token(const HeadPart& part, float* to) const {
    visit(part, [&](size_t c, size_t t, size_t count, const half_t* some) {
      chunks_to_float(some, to + t * part.channels + c, part.channels, count);
    });
  }
  static void put(const float* from, const float* factors, const HeadPart& part, half_t* first,
                  size_t pixels) {
    for (size_t c = 0; c < part.channels; c += kChunk) {
      half_t* const chunk = first + (part.channel + c) * pixels;
      if (!part.places) {
        float_to_chunks(from + c, part.channels, factors, chunk + part.token * kChunk, part.tokens);
        continue;
      }
      for (size_t t = 0; t < part.tokens; t += kSome) {
        const size_t count = std::min(kSome, part.tokens - t);
        half_t halves[kSome * kChunk];
        float_to_chunks(from + t * part.channels + c, part.channels, factors + t, halves, count);
        for (size_t i = 0; i < count; ++i) {
          std::copy_n(halves + i * kChunk, kChunk, chunk + part.place(t + i) * kChunk);
        }
      }
    }
  }

 private:
  static constexpr size_t kSome = 64;  // tokens

  // Calls take(first channel, first token, number of tokens, their chunks) for each chunk of some
  // tokens.
  template <typename Take>
  void visit(const HeadPart& part, Take take) const {
    half_t gathered[kSome * kChunk];
    for (size_t c = 0; c < part.channels; c += kChunk) {
      const half_t* const chunk = first_ + (part.channel + c) * pixels_;
      for (size_t t = 0; t < part.tokens; t += kSome) {
        const size_t count = std::min(kSome, part.tokens - t);
        for (size_t i = 0; part.places && i < count; ++i) {
          std::copy_n(chunk + part.place(t + i) * kChunk, kChunk, gathered + i * kChunk);
        }
        take(c, t, count, part.places ? gathered : chunk + (part.token + t) * kChunk);
      }
    }
  }

  const half_t* first_;
  size_t pixels_;
};

}  // namespace dvnn::layers
