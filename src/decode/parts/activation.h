// SPDX-License-Identifier: Apache-2.0
// Turns a network's numbers into probabilities, and back: thresholds are compared with the numbers,
// so that exponentials are taken of what is found only.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "base/json.h"
#include "base/names.h"

namespace dvnn::decode {

enum class Activation : uint8_t { kNone, kSigmoid, kSoftmax };

/// Reads an optional name of a table (names.h: `what` is the kind of name); a wrong one is recorded
/// with `in`, and gives the first.
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

/// A number by itself: a softmax, which sees several, leaves it as it is.
inline float activated(Activation activation, float number) {
  return activation == Activation::kSigmoid ? sigmoid_of(number) : number;
}

/// The number whose sigmoid is `probability`, and a little less: sigmoids are rounded, and a number
/// at the threshold must not be lost. Minus infinity where every number is enough.
inline float least_logit(float probability) {
  constexpr float kSlack = 1e-3f, kSure = 15;  // beyond kSure, sigmoids are 1 to six digits
  if (!(probability > 0)) return -std::numeric_limits<float>::infinity();
  if (probability >= 1) return kSure;
  return std::min(kSure, std::log(probability / (1 - probability)) - kSlack);
}

/// The least number that `activation` may make a probability of at least `probability` of, where it
/// sees numbers one by one.
inline float least_number(Activation activation, float probability) {
  if (activation == Activation::kSigmoid) return least_logit(probability);
  return probability;
}

}  // namespace dvnn::decode
