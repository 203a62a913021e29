// SPDX-License-Identifier: Apache-2.0
// The logistic function, 1 / (1 + e^-x).
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// Writes the sigmoid of `count` floats; `to` may be `from`.
void sigmoid(const float* from, float* to, size_t count);

namespace plain {
/// The plain form of sigmoid(): the same results bit for bit, one float at a time.
void sigmoid(const float* from, float* to, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
