// SPDX-License-Identifier: Apache-2.0
// Lists by numbers that are signed, as ids and axes are.
#pragma once

#include <cstddef>
#include <utility>

namespace dvnn {

/// The element of `list` with the number `index`, which is not negative.
template <typename List, typename Index>
decltype(auto) nth(List&& list, Index index) {
  return std::forward<List>(list)[static_cast<size_t>(index)];
}

}  // namespace dvnn
