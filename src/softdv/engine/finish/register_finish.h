// SPDX-License-Identifier: Apache-2.0
// What follows a convolution, done while its sums are in registers, and where the results go.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/half.h"

namespace dvnn::softdv {

enum class RegisterActivation : uint8_t {
  kNone,
  kRelu,    // at least 0
  kSloped,  // x where it is above 0, x times a slope below
  kRelu6,   // at least 0, at most 6
};

/// The way of finished results, from the first pixel of the first panel's first chunk on.
struct RegisterFinish {
  half_t* to;
  const half_t* addend;  // lies as `to` does; null: nothing is added
  size_t plane;          // elements from one chunk to the next
  RegisterActivation activation;
  float slope;
  const float* slopes;  // for each channel; null: `slope` for all
};

constexpr size_t kRepeatedSlopes = 16;  // what vectors read of a chunk's

/// From what `finish` says of the whole result to what it says of `chunk` from element `start` on.
/// The chunk's slopes are repeated in `slopes`.
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
