// SPDX-License-Identifier: Apache-2.0
// Enumerations as strings: one table per enum, of names or of rows that have a name, looked up both
// ways.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dvnn {

/// Names in memory, each `step` bytes behind the one before.
struct Names {
  const char* const* first;
  size_t count, step;

  const char* operator[](size_t i) const;
};

template <size_t N>
Names names_of(const char* const (&table)[N]) {
  return {table, N, sizeof table[0]};
}

template <typename Row, size_t N>
Names names_of(const Row (&table)[N]) {
  return {&table[0].name, N, sizeof table[0]};
}

/// The place of a name that is `text`. An unknown name is an error that says what kind of name it
/// is (`what`) and lists the known ones.
Result<size_t> find_name(std::string_view text, const Names& known, const char* what);

/// The value whose name is `text`, in a table in the order of the enum (from 0); else find_name()'s
/// error.
template <typename Enum, typename Row, size_t N>
Result<Enum> parse_name(std::string_view text, const Row (&table)[N], const char* what) {
  DVNN_ASSIGN(const size_t place, find_name(text, names_of(table), what));
  return static_cast<Enum>(place);
}

}  // namespace dvnn
