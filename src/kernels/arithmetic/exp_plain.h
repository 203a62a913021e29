// SPDX-License-Identifier: Apache-2.0
// The plain forms of exp-inl.h: the same operations one float at a time. For sources that are
// compiled without contraction (-ffp-contract=off) only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace dvnn::kernels {

namespace exp_constants {
// Limits of x: e^x is infinite above kMost, and 0 below kLeast, where it would be less than a
// normal number, which a processor computes a hundred times as slowly.
constexpr float kMost = 89.0f, kLeast = -87.3f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;  // log 2 as a sum
constexpr int kTerms = 6;
constexpr float kPolynomial[kTerms] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                       4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
constexpr float kTanhNear = 0.625f, kTanhMost = 40.0f;  // tanh is 1 above kTanhMost
constexpr int kTanhTerms = 5;
constexpr float kTanhPolynomial[kTanhTerms] = {-5.70498872745e-3f, 2.06390887954e-2f,
                                               -5.37397155531e-2f, 1.33314422036e-1f,
                                               -3.33332819422e-1f};
// Numbers below the least normal one are multiplied before their logarithm is taken.
constexpr float kSubnormalPower = 16777216.0f, kSubnormalLog = 16.6355324f;  // 2^24
constexpr int32_t kHalfRootBits = 0x3f3504f3;  // the bits of the square root of 1/2
constexpr int kLogTerms = 9;
constexpr float kLogPolynomial[kLogTerms] = {
    7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f, 1.4249322787e-1f,
    -1.6668057665e-1f, 2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
// Polynomials of the error function below 1, of its complement up to 2, and of that beyond 2.
constexpr int kErfTerms = 7, kErfcTerms = 9, kErfcFarTerms = 8;
constexpr float kErfPolynomial[kErfTerms] = {
    7.853861353153693e-5f, -8.010193625184903e-4f, 5.188327685732524e-3f, -2.685381193529856e-2f,
    1.128358514861418e-1f, -3.761262582423300e-1f, 1.128379165726710f};
constexpr float kErfcPolynomial[kErfcTerms] = {
    2.326819970068386e-2f,  -1.387039388740657e-1f, 3.687424674597105e-1f,
    -5.824733027278666e-1f, 6.210004621745983e-1f,  -4.944515323274145e-1f,
    3.404879937665872e-1f,  -2.741127028184656e-1f, 5.638259427386472e-1f};
constexpr float kErfcFarPolynomial[kErfcFarTerms] = {
    -1.047766399936249e+1f, 1.297719955372516e+1f, -7.495518717768503f,    2.921019019210786f,
    -1.015265279202700f,    4.218463358204948e-1f, -2.820767439740514e-1f, 5.641895067754075e-1f};
constexpr float kErfcMost = 9.15f;  // the complement is less than a normal number above it: 0
constexpr float kHalfRoot = 0.70710678f, kRootEightOverPi = 1.59576912f;
constexpr float kGeluCube = 0.044715f;
constexpr float kMishMost = 20.0f;  // from there on x times 1
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
  const float power = (parts.y + 1.0f) * power_of_two(half) * power_of_two(parts.n - half);
  return x < exp_constants::kLeast ? 0.0f : power;
}

inline float exp_minus_one(float x) {
  const ExpParts parts = split_exp(x < -80.0f ? -80.0f : x);
  const float power = power_of_two(parts.n);
  return parts.y * power + (power - 1.0f);
}

// Returns 0 if the result would be less than a normal number.
inline float sigmoid(float x) {
  const float least = exp_constants::kLeast;
  return x < least ? 0.0f : 1.0f / (1.0f + exp(-x));
}

inline float tanh(float x) {
  using namespace exp_constants;
  const float size = std::fabs(x), square = x * x;
  if (size < kTanhNear) {
    float p = kTanhPolynomial[0];
    for (int i = 1; i < kTanhTerms; ++i) p = p * square + kTanhPolynomial[i];
    return p * square * x + x;
  }
  if (size > kTanhMost) return std::copysign(1.0f, x);
  return std::copysign(1.0f - 2.0f / (exp(size * 2.0f) + 1.0f), x);
}

template <int kTerms>
inline float polynomial(const float (&factors)[kTerms], float x) {
  float p = factors[0];
  for (int i = 1; i < kTerms; ++i) p = p * x + factors[i];
  return p;
}

// Returns the logarithm of a normal number above 0.
inline float log_of_normal(float x) {
  using namespace exp_constants;
  int32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  const int32_t power = (bits - kHalfRootBits) >> 23;
  bits -= power * (1 << 23);
  float m = 0;
  std::memcpy(&m, &bits, sizeof m);
  m = m - 1.0f;
  const float square = m * m, n = static_cast<float>(power);
  float y = polynomial(kLogPolynomial, m) * square * m;
  y = y + n * kLog2Low;
  y = y - 0.5f * square;
  return (m + y) + n * kLog2High;
}

inline float log(float x) {
  using exp_constants::kSubnormalPower;
  if (std::isnan(x) || x < 0) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<float>::infinity();
  if (std::isinf(x)) return x;
  if (x < std::numeric_limits<float>::min()) {
    return log_of_normal(x * kSubnormalPower) - exp_constants::kSubnormalLog;
  }
  return log_of_normal(x);
}

inline float softplus(float x) {
  const float u = exp(-std::fabs(x)), w = u + 1.0f;
  return (0 < x ? x : 0) + (log_of_normal(w) + (u - (w - 1.0f)) / w);
}

inline float mish(float x) {
  const float w = exp(exp_constants::kMishMost < x ? exp_constants::kMishMost : x);
  const float n = w * (w + 2.0f);
  return x * (n / (n + 2.0f));
}

// Returns 1 - erf(x) for x of at least 1.
inline float erfc(float x) {
  using namespace exp_constants;
  const float inverse = 1.0f / x, square = inverse * inverse;
  const float p =
      x < 2.0f ? polynomial(kErfcPolynomial, square) : polynomial(kErfcFarPolynomial, square);
  return x > kErfcMost ? 0.0f : exp(-(x * x)) * inverse * p;
}

inline float erf(float x) {
  const float size = std::fabs(x);
  if (size < 1.0f) return x * polynomial(exp_constants::kErfPolynomial, x * x);
  return std::copysign(1.0f - erfc(size), x);
}

inline float gelu(float x) {
  const float z = x * exp_constants::kHalfRoot, size = std::fabs(z);
  float share = 0;  // 1 + erf(z)
  if (size < 1.0f) {
    share = z * polynomial(exp_constants::kErfPolynomial, z * z) + 1.0f;
  } else {
    share = z < 0 ? erfc(size) : 2.0f - erfc(size);
  }
  return x * 0.5f * share;
}

// Uses x / 2 (1 + tanh(u)) = x sigmoid(2 u).
inline float gelu_tanh(float x) {
  using namespace exp_constants;
  const float cube = x * x * x;
  return x * sigmoid(kRootEightOverPi * (x + kGeluCube * cube));
}

}  // namespace plain
}  // namespace dvnn::kernels
