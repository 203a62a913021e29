// SPDX-License-Identifier: Apache-2.0
// Tables of functions that files call by name, in the order of an enum.
#pragma once

#include <string>

#include "base/format.h"
#include "base/result.h"

namespace dvnn::layers {

/// The value of the enum whose names are the table's, in its order.
template <typename Enum, typename Row, size_t N>
Result<Enum> find_name(const Row (&table)[N], const std::string& name) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (name == table[i].name) return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(table[i].name);
  }
  return Error{ErrorCode::kMalformed, "'" + short_text(name, 40) + "' is none of " + known};
}

/// The same for enums that need no function: their names in order.
template <typename Enum, size_t N>
Result<Enum> find_name(const char* const (&names)[N], const std::string& name) {
  struct Row {
    const char* name;
  };
  Row rows[N];
  for (size_t i = 0; i < N; ++i) rows[i].name = names[i];
  return find_name<Enum>(rows, name);
}

}  // namespace dvnn::layers
