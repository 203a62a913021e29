// SPDX-License-Identifier: Apache-2.0
// Enumerations as strings: one table of names per enum, looked up both ways.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dvnn {

/// The value whose name is `text`, in a table in the order of the enum (from 0). An unknown name is
/// an error that says what kind of name it is (`what`) and lists the known ones.
template <typename Enum, size_t N>
Result<Enum> parse_name(std::string_view text, const char* const (&names)[N], const char* what) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(names[i]);
  }
  return Error{ErrorCode::kMalformed, std::string("unknown ") + what + " '" + std::string(text) +
                                          "' (known: " + known + ")"};
}

}  // namespace dvnn
