// SPDX-License-Identifier: Apache-2.0
// Finds the large ones among many values: decoders search every score.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// Returns the largest of `count` floats, or minus infinity if there is none; NaN is ignored.
float largest(const float* from, size_t count);

/// Returns the index of the largest of `count` floats, of equal ones the first; NaN is ignored. 0
/// if there is no number.
size_t first_largest(const float* from, size_t count);

/// Writes the indices of the floats of at least `bound` to `at`, in order, and returns their
/// number. `at` has room for `count`.
size_t at_least(const float* from, size_t count, float bound, uint32_t* at);

/// Where from[i] is larger than best[i]: sets best[i] to it, and which[i] to `index`.
void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count);

namespace plain {
/// The plain forms of the above: the same results.
float largest(const float* from, size_t count);
size_t first_largest(const float* from, size_t count);
size_t at_least(const float* from, size_t count, float bound, uint32_t* at);
void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
