// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

/// Rows become columns: element (r, x) of `rows` x `columns` elements of `size` bytes (1, 2, 4),
/// `pitch` elements from row to row, goes to to[x * stride + r]. Nothing else is written.
void transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               ptrdiff_t stride);

/// Three rows of elements of `size` bytes become one of triples. Rows are read up to
/// kElementPadding elements (see elements.h) beyond their end.
void interleave(const void* const from[3], size_t pixels, size_t size, void* to);

}  // namespace dvnn::image
