// SPDX-License-Identifier: Apache-2.0
// Weighted sums of lines, and of elements of a line, for resizing pictures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// to[i] = 0 + the sum over t, in that order, of weights[t] * lines[t][i].
void mix_lines(const float* const* lines, const float* weights, size_t taps, float* to,
               size_t count);

/// The taps of each result along a line: result k has the taps first[k] to first[k + 1] - 1, each
/// an element of the line and its weight.
struct LineTaps {
  const uint32_t* first;
  const int32_t* from;
  const float* weights;
  /// If no result has more than two taps: the first and the last element of each result, and their
  /// weights, of which the second is 0 for a single tap. Otherwise null.
  const int32_t* pair_from[2];
  const float* pair_weights[2];
};

/// to[k * inner + i] = 0 + the sum over k's taps, in order, of weight * line[(from - base) * inner
/// + i], for k of begin to end - 1 and i below `inner`; `to` begins with k = begin.
void mix_along(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
               size_t inner, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void mix_lines(const float* const* lines, const float* weights, size_t taps, float* to,
               size_t count);
void mix_along(const LineTaps& taps, size_t begin, size_t end, int32_t base, const float* line,
               size_t inner, float* to);
}  // namespace plain

}  // namespace dvnn::kernels
