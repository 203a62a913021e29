// SPDX-License-Identifier: Apache-2.0
// Raw scores -> probabilities.
#pragma once

#include <cstddef>

namespace dvnn::decode {

/// Softmax over each of `rows` groups of `classes` neighbouring floats, in place, the maximum taken
/// off first so that it cannot overflow.
void softmax_rows(float* scores, size_t rows, size_t classes);

/// 1 / (1 + e^-x) for `count` floats, in place.
void sigmoid(float* scores, size_t count);

}  // namespace dvnn::decode
