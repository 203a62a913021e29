// SPDX-License-Identifier: Apache-2.0
// Converts a network's numbers to probabilities, and thresholds back to numbers, so that
// exponentials are computed only for what is found.
#pragma once

#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/names.h"

namespace dvnn::decode {

enum class Activation : uint8_t { kNone, kSigmoid, kSoftmax };

/// Reads an optional name of a table (names.h; `what` is the kind of name). A wrong one is recorded
/// with `in` and gives the first value.
template <typename Enum, size_t N>
Enum read_choice(JsonReader* in, const char* field, const char* fallback,
                 const char* const (&names)[N], const char* what) {
  const auto parsed = parse_name<Enum>(in->text(field, fallback), names, what);
  if (parsed.ok()) return parsed.value();
  in->fail(field, parsed.error().message);
  return Enum();
}

inline Activation read_activation(JsonReader* in, const char* field, const char* fallback) {
  static constexpr const char* kNames[] = {"none", "sigmoid", "softmax"};
  return read_choice<Activation>(in, field, fallback, kNames, "activation");
}

inline float sigmoid_of(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

/// Activates a single number. A softmax needs several and leaves it unchanged.
inline float activated(Activation activation, float number) {
  return activation == Activation::kSigmoid ? sigmoid_of(number) : number;
}

/// Returns the number whose sigmoid is `probability`, minus a small slack, because sigmoids are
/// rounded and a number at the threshold must not be lost. Minus infinity if every number is
/// enough.
inline float least_logit(float probability) {
  constexpr float kSlack = 1e-3f, kSure = 15;  // beyond kSure, sigmoids are 1 to six digits
  if (!(probability > 0)) return -std::numeric_limits<float>::infinity();
  if (probability >= 1) return kSure;
  return std::min(kSure, std::log(probability / (1 - probability)) - kSlack);
}

/// Returns the least number whose activation may be at least `probability`, for activations of
/// single numbers.
inline float least_number(Activation activation, float probability) {
  if (activation == Activation::kSigmoid) return least_logit(probability);
  return probability;
}

}  // namespace dvnn::decode
