// SPDX-License-Identifier: Apache-2.0
// Pooling of pixels whose channels lie side by side.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// `count` windows of equal size over pixels of `lanes` channels. In floats: windows are `step`
/// apart, a window's rows `row`, its columns `column`.
struct PixelWindows {
  const float* first;
  size_t count, step, row, column, rows, columns, lanes;
};

/// to[i * lanes + c] = the largest of window i's channel c, or its sum over `divisor`. Sums begin
/// with 0 and go along rows, one after the other; a maximum begins with the least float, and passes
/// over NaN.
void largest_of_windows(const PixelWindows& windows, float* to);
void average_of_windows(const PixelWindows& windows, float divisor, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void largest_of_windows(const PixelWindows& windows, float* to);
void average_of_windows(const PixelWindows& windows, float divisor, float* to);
}  // namespace plain

}  // namespace dvnn::kernels
