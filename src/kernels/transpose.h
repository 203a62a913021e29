// SPDX-License-Identifier: Apache-2.0
// Matrices turned, whatever their elements mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// Writes to[r * to_stride + c] = from[c * from_stride + r] for each of `rows` and `columns`.
/// Strides are in elements and may be negative; the matrices share no memory.
void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);

namespace plain {
/// The plain forms of transpose().
void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
}  // namespace plain

}  // namespace dvnn::kernels
