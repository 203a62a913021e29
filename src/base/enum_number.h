// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

namespace dvnn {

/// Returns the number in a field of a C enumeration. Anybody may have written the field, and
/// reading a value that is no enumerator as an Enum is undefined.
template <typename Enum>
std::underlying_type_t<Enum> enum_number(const Enum& field) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

}  // namespace dvnn
