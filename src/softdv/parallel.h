// SPDX-License-Identifier: Apache-2.0
// Loops over the worker's OpenMP threads, the same that oneDNN uses.
#pragma once

#include <cstddef>

namespace dvnn::softdv {

/// Calls f(i) for i in 0..count-1, on several threads if the `work` (elements touched) is worth it.
template <typename F>
void parallel_for(int count, size_t work, F f) {
  constexpr size_t kWorthThreads = 1 << 15;
#pragma omp parallel for schedule(static) if (work > kWorthThreads)
  for (int i = 0; i < count; ++i) f(i);
}

}  // namespace dvnn::softdv
