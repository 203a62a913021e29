// SPDX-License-Identifier: Apache-2.0
// Brings numbers to a mean of 0 and a variance of 1, in double precision.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// Adds the square of first[k * stride + i] - means[i] to to[i], for k of 0 to lines - 1, in that
/// order, and i below `count`.
void add_deviations(const float* first, size_t stride, size_t lines, const double* means,
                    double* to, size_t count);

/// Replaces each such x by (x - means[i]) * factors[i], rounded once; `to` may be `first`, and has
/// the same stride.
void standardise_lines(const float* first, size_t stride, size_t lines, const double* means,
                       const double* factors, float* to, size_t count);

/// Standardises `count` floats by one mean and one factor.
void standardise_row(const float* from, double mean, double factor, float* to, size_t count);

namespace plain {
/// The plain forms: the same results bit for bit.
void add_deviations(const float* first, size_t stride, size_t lines, const double* means,
                    double* to, size_t count);
void standardise_lines(const float* first, size_t stride, size_t lines, const double* means,
                       const double* factors, float* to, size_t count);
void standardise_row(const float* from, double mean, double factor, float* to, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
