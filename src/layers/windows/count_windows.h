// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dvnn::layers {

/// Returns the number of windows along an axis. With `ceil`, a partial last window counts if it
/// starts inside the input or its leading pad.
inline int64_t count_windows(int64_t size, int64_t before, int64_t after, int64_t kernel,
                             int64_t stride, bool ceil) {
  const int64_t room = size + before + after - kernel;
  if (room < 0) return 0;
  int64_t n = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (n - 1) * stride >= size + before) --n;
  return n;
}

}  // namespace dvnn::layers
