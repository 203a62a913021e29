// SPDX-License-Identifier: Apache-2.0
// Converts enumerations to and from strings: each enum has one table of names, or of rows with a
// name.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace dvnn {

/// An array of names in memory, `step` bytes apart.
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

/// Returns the index of the name `text`. The error tells the kind of name (`what`) and lists the
/// known ones.
Result<size_t> find_name(std::string_view text, const Names& known, const char* what);

/// Returns the value whose name is `text`, in a table in the order of the enum from 0. Errors are
/// those of find_name().
template <typename Enum, typename Row, size_t N>
Result<Enum> parse_name(std::string_view text, const Row (&table)[N], const char* what) {
  DVNN_ASSIGN(const size_t place, find_name(text, names_of(table), what));
  return static_cast<Enum>(place);
}

}  // namespace dvnn
