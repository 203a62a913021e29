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

/// Floats at whose multiples the rows of softmax_powers() begin.
constexpr size_t kPowersAlignment = 16;

/// Rows of `count` floats, 1 or more, that begin `stride` floats apart, a multiple of
/// kPowersAlignment.
struct PowerRows {
  float* first;
  size_t rows, count, stride;
};

/// Softmax without its division: replaces each element x of a row by e^((x - m) scale), where m is
/// the row's largest element, and writes one over each row's sum; `scale` is above 0. What is
/// behind a row's elements, up to the next multiple of kPowersAlignment, is overwritten. Sums are
/// those of sixteen partial ones, of every sixteenth element. Instruction sets that can multiply
/// and add in one rounding do.
void softmax_powers(const PowerRows& rows, float scale, float* inverses);

namespace plain {
/// The plain forms of softmax() and softmax_columns(): the same results bit for bit, one float at a
/// time.
void softmax(float* data, size_t outer, size_t count, size_t inner);
void softmax_columns(float* data, size_t count, size_t width);
/// The plain form of softmax_powers(), whose products are rounded before they are added.
void softmax_powers(const PowerRows& rows, float scale, float* inverses);
}  // namespace plain

}  // namespace dvnn::kernels
