// SPDX-License-Identifier: Apache-2.0
// Operations after a convolution that work on its sums in registers, and where results go.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/half.h"

namespace dvnn::softdv {

enum class RegisterActivation : uint8_t {
  kNone,
  kRelu,    // at least 0
  kSloped,  // x if above 0, else x times a slope
  kRelu6,   // at least 0, at most 6
};

/// Activation, addition and places of results, from the first pixel of the first chunk on.
struct RegisterFinish {
  half_t* to;
  const half_t* addend;  // in the layout of `to`; null: no addition
  size_t plane;          // elements from one chunk to the next
  RegisterActivation activation;
  float slope;
  const float* slopes;  // by channel; null: `slope` for all
};

constexpr size_t kRepeatedSlopes = 16;  // as vectors of 16 floats have two pixels

/// Moves `finish`, which is about the whole result, to `chunk` from element `start` on. `slopes`
/// receives the chunk's slopes, repeated.
inline void go_to_chunk(int chunk, size_t start, float (&slopes)[kRepeatedSlopes],
                        RegisterFinish* finish) {
  if (finish->slopes) {
    const float* const own = finish->slopes + chunk * 8;
    for (size_t i = 0; i < kRepeatedSlopes; ++i) slopes[i] = own[i % 8];
    finish->slopes = slopes;
  }
  start += static_cast<size_t>(chunk) * finish->plane;
  finish->to += start;
  if (finish->addend) finish->addend += start;
}

}  // namespace dvnn::softdv
