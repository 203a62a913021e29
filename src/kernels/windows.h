// SPDX-License-Identifier: Apache-2.0
// Poolings of pixels whose channels lie side by side.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// A window of pixels: rows that are `row` floats apart, of pixels of `lanes` channels each.
struct PixelWindow {
  const float* first;
  size_t row, rows, columns, lanes;
};

/// to[c] = the largest of the window's channel c, or its sum over `divisor`. Sums begin with 0 and
/// go along rows, one after the other; a maximum begins with the least float, and passes over NaN.
void largest_of_window(const PixelWindow& window, float* to);
void average_of_window(const PixelWindow& window, float divisor, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void largest_of_window(const PixelWindow& window, float* to);
void average_of_window(const PixelWindow& window, float divisor, float* to);
}  // namespace plain

}  // namespace dvnn::kernels
