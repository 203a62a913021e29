// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

namespace dvnn {

/// The number in a field of a C enumeration that anybody may have written: reading one that is none
/// of the enumerators' as an Enum is undefined.
template <typename Enum>
std::underlying_type_t<Enum> enum_number(const Enum& field) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

}  // namespace dvnn
