// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace dvnn::image {

/// Transposes: element (r, x) of `rows` x `columns` elements of `size` bytes (1 or 4), with `pitch`
/// elements between rows, goes to to[x * stride + r]. Writes nothing else.
void transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               size_t stride);

}  // namespace dvnn::image
