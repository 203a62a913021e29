// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis: e^x over the sum of all e^x.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// Softmax along the middle axis of data[outer][count][inner], in place; `count` is 1 or more. The
/// maximum is subtracted first, against overflow; sums follow the order of the axis.
void softmax(float* data, size_t outer, size_t count, size_t inner);

/// Softmax of each of `width` columns of `count` rows, in place. A single column is computed as
/// softmax() computes one of several, with the same bits.
void softmax_columns(float* data, size_t count, size_t width);

namespace plain {
/// The plain forms of softmax() and softmax_columns(): the same results bit for bit, one float at a
/// time.
void softmax(float* data, size_t outer, size_t count, size_t inner);
void softmax_columns(float* data, size_t count, size_t width);
}  // namespace plain

}  // namespace dvnn::kernels
