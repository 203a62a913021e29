// SPDX-License-Identifier: Apache-2.0
// Products of matrices of floats.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// to[i][j] = 0 + the sum over k, in that order, of a[i][k] * b[k][j], for row-major matrices of m
/// x k and k x n. Instruction sets that can multiply and add in one rounding do. The matrices share
/// no memory.
void multiply(const float* a, const float* b, float* to, size_t m, size_t k, size_t n);
/// multiply() for a `b` that is a panel of n columns with rows of its own, into a result whose rows
/// begin `stride` floats apart.
void multiply_panel(const float* a, const float* panel, float* to, size_t m, size_t k, size_t n,
                    size_t stride);
/// multiply() for an `a` whose rows begin `stride` floats apart.
void multiply_rows(const float* a, size_t stride, const float* b, float* to, size_t m, size_t k,
                   size_t n);

namespace plain {
/// The plain form of multiply(), whose products are rounded before they are added.
void multiply(const float* a, const float* b, float* to, size_t m, size_t k, size_t n);
}  // namespace plain

}  // namespace dvnn::kernels
