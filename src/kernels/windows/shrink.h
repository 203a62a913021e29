// SPDX-License-Identifier: Apache-2.0
// Reduces the size of brightness pictures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// to[x] = scale * the sum of `step` bytes, from x * step on, of one or two rows; `second` may be
/// null. `sums` has room for count * step numbers.
void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t* sums, float* to);
/// to[x] = the mean of four pixels: those at 2 x and 2 x + 1 of the first row, then of the second.
void halve_rows(const float* first, const float* second, size_t count, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t* sums, float* to);
void halve_rows(const float* first, const float* second, size_t count, float* to);
}  // namespace plain

}  // namespace dvnn::kernels
