// SPDX-License-Identifier: Apache-2.0
// Folds lines of numbers into one line: sums, products and extremes in double precision.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

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

}  // namespace dvnn::kernels
