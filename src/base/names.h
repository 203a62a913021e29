// SPDX-License-Identifier: Apache-2.0
// Enumerations as strings: one table per enum, of names or of rows that have a name, looked up both
// ways.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/format.h"
#include "base/result.h"

namespace dvnn {

inline const char* name_in(const char* name) {
  return name;
}

template <typename Row>
const char* name_in(const Row& row) {
  return row.name;
}

/// The value whose name is `text`, in a table in the order of the enum (from 0). An unknown name is
/// an error that says what kind of name it is (`what`) and lists the known ones.
template <typename Enum, typename Row, size_t N>
Result<Enum> parse_name(std::string_view text, const Row (&table)[N], const char* what) {
  constexpr size_t kMostShown = 40;
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (text == name_in(table[i])) return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(name_in(table[i]));
  }
  return Error{ErrorCode::kMalformed, std::string("unknown ") + what + " '" +
                                          short_text(std::string(text), kMostShown) +
                                          "' (known: " + known + ")"};
}

}  // namespace dvnn
