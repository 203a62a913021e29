// SPDX-License-Identifier: Apache-2.0
// Computations in which many numbers become few: lines that are folded, standardised or normalised,
// products of matrices, and peaks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

// Folds lines of numbers into one line: sums, products and extremes in double precision.

/// What an element x does: adds x, |x| or x^2; multiplies by x; keeps the larger or the smaller.
enum class Fold { kSum, kSizes, kSquares, kProduct, kLargest, kSmallest };

/// Folds first[k * stride + i] for k of 0 to lines - 1, in that order, into to[i], for i below
/// `count`. Extremes ignore NaN.
void fold_lines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
                size_t count);

namespace plain {
/// The plain form of fold_lines(): the same results bit for bit.
void fold_lines(Fold fold, const float* first, size_t stride, size_t lines, double* to,
                size_t count);
}  // namespace plain

// Brings numbers to a mean of 0 and a variance of 1, in double precision.

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

/// Local response normalisation: values divided by a power of their neighbours' squares.
struct LocalResponse {
  float bias, factor, beta;
};

/// to[i] = own[i] / (bias + factor * s)^beta, where s is the sum of the squares of first[k * stride
/// + i] for k of 0 to lines - 1, in that order. A beta of 3/4 is two square roots, which give the
/// same bits everywhere; others are the C library's power.
void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count);

namespace plain {
/// The plain form of normalise_local(): the same results bit for bit.
void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count);
}  // namespace plain

// Products of matrices of floats.

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

// Finds the large ones among many values: decoders search every score.

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
