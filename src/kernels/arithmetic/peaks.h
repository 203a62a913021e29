// SPDX-License-Identifier: Apache-2.0
// Finds which of many values are large: decoders ask it of every score.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// The largest of `count` floats; NaN is passed over, and nothing at all is minus infinity.
float largest(const float* from, size_t count);

/// The index of the largest of `count` floats, and of equal ones the first; NaN is passed over. 0
/// if there is no number.
size_t first_largest(const float* from, size_t count);

/// Writes the indices of the floats that are `bound` or more to `at`, in order, and returns how
/// many they are. `at` has room for `count`.
size_t at_least(const float* from, size_t count, float bound, uint32_t* at);

/// Raises best[i] to from[i], where that is more, and notes `index` in which[i].
void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count);

namespace plain {
/// The plain forms of the above: the same results.
float largest(const float* from, size_t count);
size_t first_largest(const float* from, size_t count);
size_t at_least(const float* from, size_t count, float bound, uint32_t* at);
void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
