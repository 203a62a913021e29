// SPDX-License-Identifier: Apache-2.0
// The plain forms of exp-inl.h: the same operations one float at a time. For sources that are
// compiled without contraction (-ffp-contract=off) only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace dvnn::kernels {

namespace exp_constants {
constexpr float kMost = 89.0f, kLeast = -104.0f;  // beyond them e^x is infinite, or 0
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;  // log 2 as a sum
constexpr int kTerms = 6;
constexpr float kPolynomial[kTerms] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                       4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
constexpr float kTanhNear = 0.625f;
constexpr int kTanhTerms = 5;
constexpr float kTanhPolynomial[kTanhTerms] = {-5.70498872745e-3f, 2.06390887954e-2f,
                                               -5.37397155531e-2f, 1.33314422036e-1f,
                                               -3.33332819422e-1f};
}  // namespace exp_constants

namespace plain {

inline float power_of_two(float n) {
  const int32_t bits = (static_cast<int32_t>(n) + 127) * (1 << 23);
  float power = 0;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

struct ExpParts {
  float n, y;
};

inline ExpParts split_exp(float x) {
  using namespace exp_constants;
  if (std::isnan(x)) return {0, x};
  x = kMost < x ? kMost : x < kLeast ? kLeast : x;
  const float n = std::nearbyint(x * kLog2E);
  float r = x - n * kLog2High;
  r = r - n * kLog2Low;
  float p = kPolynomial[0];
  for (int i = 1; i < kTerms; ++i) p = p * r + kPolynomial[i];
  return {n, p * r * r + r};
}

inline float exp(float x) {
  const ExpParts parts = split_exp(x);
  const float half = std::floor(parts.n * 0.5f);
  return (parts.y + 1.0f) * power_of_two(half) * power_of_two(parts.n - half);
}

inline float exp_minus_one(float x) {
  const ExpParts parts = split_exp(x < -80.0f ? -80.0f : x);
  const float power = power_of_two(parts.n);
  return parts.y * power + (power - 1.0f);
}

inline float sigmoid(float x) {
  return 1.0f / (1.0f + exp(-x));
}

inline float tanh(float x) {
  using namespace exp_constants;
  const float size = std::fabs(x), square = x * x;
  if (size < kTanhNear) {
    float p = kTanhPolynomial[0];
    for (int i = 1; i < kTanhTerms; ++i) p = p * square + kTanhPolynomial[i];
    return p * square * x + x;
  }
  return std::copysign(1.0f - 2.0f / (exp(size * 2.0f) + 1.0f), x);
}

}  // namespace plain
}  // namespace dvnn::kernels
