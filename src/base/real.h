// SPDX-License-Identifier: Apache-2.0
// Parses numbers with a decimal point in every locale; sscanf() expects a comma in some.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace dvnn {

/// Removes spaces from the beginning of the text.
inline void take_spaces(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(" \t\n\r"), text->size()));
}

/// Removes a finite number and the spaces around it from the beginning of the text. Returns false
/// if there is none.
inline bool take_real(std::string_view* text, double* value) {
  take_spaces(text);
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || !std::isfinite(*value)) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  take_spaces(text);
  return true;
}

}  // namespace dvnn
