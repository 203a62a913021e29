// SPDX-License-Identifier: Apache-2.0
// Tracks corners from one picture to another (Lucas and Kanade): patches of 7 x 7 pixels at
// fractional places, their gradients, and the difference of two. Sums go down the columns first,
// then from the first column to the last.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

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
