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

/// Whether `list` has an element with that number, which may be negative.
template <typename List>
bool has_nth(const List& list, int index) {
  return index >= 0 && static_cast<size_t>(index) < list.size();
}

/// Leaves the first `most` elements of a list; all of them if `most` is negative.
template <typename List>
void keep_first(int most, List* list) {
  if (has_nth(*list, most)) list->resize(static_cast<size_t>(most));
}

}  // namespace dvnn
