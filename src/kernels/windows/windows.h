// SPDX-License-Identifier: Apache-2.0
// Windows over rows of numbers: pooling, convolutions, resizing, and patches that are followed from
// one picture to another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

// Pooling of pixels whose channels lie side by side.

/// `count` windows of equal size over pixels of `lanes` channels. In floats: windows are `step`
/// apart, a window's rows `row`, its columns `column`.
struct PixelWindows {
  const float* first;
  size_t count, step, row, column, rows, columns, lanes;
};

/// to[i * lanes + c] = the largest of window i's channel c, or its sum over `divisor`. Sums begin
/// with 0 and go along rows, one after the other; a maximum begins with the least float, and passes
/// over NaN.
void largest_of_windows(const PixelWindows& windows, float* to);
void average_of_windows(const PixelWindows& windows, float divisor, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void largest_of_windows(const PixelWindows& windows, float* to);
void average_of_windows(const PixelWindows& windows, float divisor, float* to);
}  // namespace plain

// Convolutions in floats, row by row.

/// Channels that are computed at once, and floats that may be read beyond a row's end.
constexpr size_t kConvolveChannels = 8, kConvolveSlack = 32;

/// A row of up to kConvolveChannels channels: to[m][x] = bias[m] + the sum over k, in that order,
/// of weights[k * kConvolveChannels + m] * source[offsets[k] + x], for x of 0 to count - 1. Reads
/// up to kConvolveSlack floats more of the source.
void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to);

namespace plain {
/// The plain form of convolve_row().
void convolve_row(const float* source, const int64_t* offsets, size_t taps, const float* weights,
                  const float* bias, size_t channels, size_t count, float* const* to);
}  // namespace plain

// Weighted sums of lines, and of elements of a line, for resizing pictures.

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

// Reduces the size of brightness pictures.

/// to[x] = scale * the sum of `step` bytes, from x * step on, of one or two rows; `second` may be
/// null. `sums` has room for count * step numbers.
void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t* sums, float* to);
/// to[x] = the mean of four pixels: those at 2 x and 2 x + 1 of the first row, then of the second.
void halve_rows(const float* first, const float* second, size_t count, float* to);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t* sums, float* to);
void halve_rows(const float* first, const float* second, size_t count, float* to);
}  // namespace plain

// Tracks corners from one picture to another (Lucas and Kanade): patches of 7 x 7 pixels at
// fractional places, their gradients, and the difference of two. Sums go down the columns first,
// then from the first column to the last.

constexpr size_t kPatchSize = 7;
constexpr size_t kPatchStride = 8;  // floats per row; the last one does not count
constexpr size_t kPatchFloats = kPatchSize * kPatchStride;

/// The place of a patch: `right` and `below` are fractions (0 to 1) of a pixel from `first`, whose
/// rows are `stride` apart. All pixels from one before it to ten after it, in both directions, must
/// be readable.
struct PatchPlace {
  const float* first;
  size_t stride;
  float right, below;
};

struct Patch {
  float values[kPatchFloats];
  float along_x[kPatchFloats], along_y[kPatchFloats];  // gradients
};

/// Samples a patch: values interpolated between four pixels, and as gradients half the difference
/// of the values on both sides.
void sample_patch(const PatchPlace& place, Patch* patch);
/// Sums, over a patch, its gradients times the difference between the pixels at `place` and the
/// patch. The mean difference is subtracted first, against changes of light.
void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y);
/// Returns the sum of |a[i] - b[i]|: first in eight partial sums (of every eighth element), then
/// these, then the elements past the last multiple of 8.
float sum_of_differences(const float* a, const float* b, size_t count);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void sample_patch(const PatchPlace& place, Patch* patch);
void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y);
float sum_of_differences(const float* a, const float* b, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
