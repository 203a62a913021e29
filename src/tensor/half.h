// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16. Single values are converted here, whole arrays, and chunks of the device's
// channels to matrices of floats and back, by vector code in convert_half.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dvnn {

/// The bits of an IEEE binary16 number.
using half_t = uint16_t;

/// Rounds `value` to the nearest binary16, ties to even. Overflow gives infinity; NaN stays a
/// (quiet) NaN.
inline half_t float_to_half(float value) {
  uint32_t x;
  std::memcpy(&x, &value, sizeof x);
  const uint32_t sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x >= 0x7f800000u)
    return static_cast<half_t>(sign | (x > 0x7f800000u ? 0x7e00u | ((x >> 13) & 0x3ffu) : 0x7c00u));
  if (x >= 0x477ff000u) return static_cast<half_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (x < 0x33000001u) return static_cast<half_t>(sign);             // rounds to zero
  if (x < 0x38800000u) {                                             // a binary16 subnormal
    const int shift = 126 - static_cast<int>(x >> 23);
    const uint32_t mant = (x & 0x7fffffu) | 0x800000u;
    const uint32_t half_ulp = 1u << (shift - 1);
    const uint32_t kept = mant >> shift;
    const uint32_t rest = mant & ((1u << shift) - 1);
    return static_cast<half_t>(
        sign | (kept + ((rest > half_ulp || (rest == half_ulp && (kept & 1))) ? 1 : 0)));
  }
  const uint32_t rebased = x - 0x38000000u;
  return static_cast<half_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1)) >> 13));
}

/// Returns the exact value of `h`.
inline float half_to_float(half_t h) {
  const uint32_t sign = (h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1f;
  const uint32_t mantissa = h & 0x3ffu;
  uint32_t x;
  if (exponent == 0x1f) {
    x = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent != 0) {
    x = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    float f = static_cast<float>(mantissa) * (1.0f / 16777216.0f);  // mantissa * 2^-24
    std::memcpy(&x, &f, sizeof x);
    x |= sign;
  }
  float out;
  std::memcpy(&out, &x, sizeof out);
  return out;
}

/// Converts `count` values, rounding as float_to_half does. Vector code chosen at run time.
void float_to_half(const float* from, half_t* to, size_t count);
/// Converts `count` values exactly. Vector code chosen at run time.
void half_to_float(const half_t* from, float* to, size_t count);

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
