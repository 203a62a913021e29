// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis: e^x over the sum of all e^x.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// Softmax along the middle axis of data[outer][count][inner], in place; `count` is 1 or more. The
/// maximum is taken off first, so that nothing overflows; sums are made in the order of the axis.
void softmax(float* data, size_t outer, size_t count, size_t inner);

namespace plain {
/// The plain form of softmax(): the same results bit for bit, one float at a time.
void softmax(float* data, size_t outer, size_t count, size_t inner);
}  // namespace plain

}  // namespace dvnn::kernels
