// SPDX-License-Identifier: Apache-2.0
// How alike two embeddings are: the cosine of the angle between them.
#pragma once

#include <cstddef>
#include <vector>

namespace dvnn::match {

/// Scales a vector to length 1. Returns false, and leaves it, if it is zero or not finite.
bool make_unit(std::vector<float>* vector);

/// Returns the cosine of two vectors of unit length, -1..1. Its bits are the same on all processors
/// without fused multiplications.
float cosine(const float* a, const float* b, size_t length);

}  // namespace dvnn::match
