// SPDX-License-Identifier: Apache-2.0
// What follows corners of one picture in another (Lucas and Kanade): patches of 7 x 7 pixels
// between pixels, their gradients, and how far two are apart. Sums go down the columns first, and
// then from the first column to the last.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

constexpr size_t kPatchSize = 7;
constexpr size_t kPatchStride = 8;  // floats of a row, of which the last one does not count
constexpr size_t kPatchFloats = kPatchSize * kPatchStride;

/// Where a patch is: at shares (0 to 1) of a pixel right of and below `first`, whose rows are
/// `stride` apart. From one pixel before it in both directions to ten pixels after, all can be
/// read.
struct PatchPlace {
  const float* first;
  size_t stride;
  float right, below;
};

struct Patch {
  float values[kPatchFloats];
  float along_x[kPatchFloats], along_y[kPatchFloats];  // gradients
};

/// Sets a patch to what is there: values between four pixels, and half of the difference between
/// those of the places on both sides.
void sample_patch(const PatchPlace& place, Patch* patch);
/// Sets the sums, over a patch, of its gradients multiplied by what is there less what it has,
/// less the mean of that: light changes.
void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y);
/// The sum of |a[i] - b[i]|: of each eighth one first, then of these, then of the rest past the
/// last multiple of 8.
float sum_of_differences(const float* a, const float* b, size_t count);

namespace plain {
/// The plain forms of the above: the same results bit for bit.
void sample_patch(const PatchPlace& place, Patch* patch);
void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y);
float sum_of_differences(const float* a, const float* b, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
