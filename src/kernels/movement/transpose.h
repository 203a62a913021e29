// SPDX-License-Identifier: Apache-2.0
// Transposes matrices of 16-bit or 32-bit elements.
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

inline void transpose(const float* from, ptrdiff_t from_stride, float* to, ptrdiff_t to_stride,
                      size_t rows, size_t columns) {
  transpose(reinterpret_cast<const uint32_t*>(from), from_stride, reinterpret_cast<uint32_t*>(to),
            to_stride, rows, columns);
}
/// Transposes `rows` rows of `columns` floats without gaps.
inline void transpose(const float* from, float* to, size_t rows, size_t columns) {
  transpose(from, static_cast<ptrdiff_t>(columns), to, static_cast<ptrdiff_t>(rows), columns, rows);
}

namespace plain {
/// The plain forms of transpose().
void transpose(const uint16_t* from, ptrdiff_t from_stride, uint16_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
void transpose(const uint32_t* from, ptrdiff_t from_stride, uint32_t* to, ptrdiff_t to_stride,
               size_t rows, size_t columns);
}  // namespace plain

}  // namespace dvnn::kernels
