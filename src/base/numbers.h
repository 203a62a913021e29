// SPDX-License-Identifier: Apache-2.0
// Untrusted numbers: sums and products that saturate instead of wrapping, so that a sum of large
// costs never looks small; numbers in texts; and those in fields of C enumerations.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace dvnn {

/// Larger than any sensible limit; the sum of two of them does not wrap.
constexpr uint64_t kSaturated = UINT64_MAX / 4;

inline uint64_t saturating_sum(uint64_t a, uint64_t b) {
  return std::min(kSaturated, std::min(a, kSaturated) + std::min(b, kSaturated));
}

inline uint64_t saturating_product(uint64_t a, uint64_t b) {
  return b != 0 && a > kSaturated / b ? kSaturated : a * b;
}

/// Returns the product of several numbers; negative ones count as 0.
template <typename... Numbers>
uint64_t saturating_product_of(Numbers... numbers) {
  uint64_t result = 1;
  for (const int64_t n : {static_cast<int64_t>(numbers)...}) {
    result = saturating_product(result, static_cast<uint64_t>(std::max<int64_t>(n, 0)));
  }
  return result;
}

// sscanf() expects a comma as the decimal point in some locales.

/// Removes spaces from the beginning of the text.
inline void take_spaces(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(" \t\n\r"), text->size()));
}

/// Removes a finite number with a decimal point and the spaces around it from the beginning of the
/// text. Returns false if there is none.
inline bool take_real(std::string_view* text, double* value) {
  take_spaces(text);
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || !std::isfinite(*value)) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  take_spaces(text);
  return true;
}

/// Returns the number in a field of a C enumeration. The field may have any value, and reading one
/// that is not an enumerator as an Enum is undefined behaviour.
template <typename Enum>
std::underlying_type_t<Enum> enum_number(const Enum& field) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

}  // namespace dvnn
