// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

namespace dvnn {

/// Returns the number in a field of a C enumeration. The field may have any value, and reading one
/// that is not an enumerator as an Enum is undefined behaviour.
template <typename Enum>
std::underlying_type_t<Enum> enum_number(const Enum& field) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

}  // namespace dvnn
