// SPDX-License-Identifier: Apache-2.0
// Indexes lists with signed numbers, as ids and axes are.
#pragma once

#include <cstddef>
#include <utility>

namespace dvnn {

/// Returns element `index` of `list`; it must not be negative.
template <typename List, typename Index>
decltype(auto) nth(List&& list, Index index) {
  return std::forward<List>(list)[static_cast<size_t>(index)];
}

/// Whether `list` has an element `index`, which may be negative.
template <typename List>
bool has_nth(const List& list, int index) {
  return index >= 0 && static_cast<size_t>(index) < list.size();
}

/// Keeps the first `most` elements of a list; all of them if `most` is negative.
template <typename List>
void keep_first(int most, List* list) {
  if (has_nth(*list, most)) list->resize(static_cast<size_t>(most));
}

}  // namespace dvnn
