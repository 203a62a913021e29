// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows/patches.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Interpolates between four pixels. No product is fused with a sum: all targets round alike.
template <class D>
HWY_INLINE hn::Vec<D> Between(D d, const PatchPlace& place, const float* HWY_RESTRICT at) {
  const auto right = hn::Set(d, place.right), below = hn::Set(d, place.below);
  const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + 1);
  const auto e = hn::LoadU(d, at + place.stride), f = hn::LoadU(d, at + place.stride + 1);
  const auto upper = hn::Add(a, hn::Mul(right, hn::Sub(b, a)));
  const auto lower = hn::Add(e, hn::Mul(right, hn::Sub(f, e)));
  return hn::Add(upper, hn::Mul(below, hn::Sub(lower, upper)));
}

void SamplePatch(const PatchPlace& place, Patch* HWY_RESTRICT patch) {
  ForEachVector(kPatchStride, [&](auto d, size_t i) HWY_ATTR {
    const auto half = hn::Set(d, 0.5f);
    const float* at = place.first + i;
    auto above = Between(d, place, at - place.stride), here = Between(d, place, at);
    for (size_t j = 0; j < kPatchSize; ++j, at += place.stride) {
      const auto below = Between(d, place, at + place.stride);
      const auto left = Between(d, place, at - 1), right = Between(d, place, at + 1);
      const size_t to = j * kPatchStride + i;
      hn::StoreU(here, d, patch->values + to);
      hn::StoreU(hn::Mul(hn::Sub(right, left), half), d, patch->along_x + to);
      hn::StoreU(hn::Mul(hn::Sub(below, above), half), d, patch->along_y + to);
      above = here;
      here = below;
    }
  });
}

HWY_INLINE float SumOfColumns(const float* columns) {
  float sum = 0;
  for (size_t i = 0; i < kPatchSize; ++i) sum += columns[i];
  return sum;
}

void MatchPatch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y) {
  float off[kPatchFloats], columns[2][kPatchStride];
  ForEachVector(kPatchStride, [&](auto d, size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (size_t j = 0; j < kPatchSize; ++j) {
      const size_t at = j * kPatchStride + i;
      const auto now = Between(d, place, place.first + j * place.stride + i);
      const auto difference = hn::Sub(now, hn::LoadU(d, patch.values + at));
      hn::StoreU(difference, d, off + at);
      sum = hn::Add(sum, difference);
    }
    hn::StoreU(sum, d, columns[0] + i);
  });
  const float mean = SumOfColumns(columns[0]) / (kPatchSize * kPatchSize);
  ForEachVector(kPatchStride, [&](auto d, size_t i) HWY_ATTR {
    auto sum_x = hn::Zero(d), sum_y = hn::Zero(d);
    for (size_t at = i; at < kPatchFloats; at += kPatchStride) {
      const auto rest = hn::Sub(hn::LoadU(d, off + at), hn::Set(d, mean));
      sum_x = hn::Add(sum_x, hn::Mul(hn::LoadU(d, patch.along_x + at), rest));
      sum_y = hn::Add(sum_y, hn::Mul(hn::LoadU(d, patch.along_y + at), rest));
    }
    hn::StoreU(sum_x, d, columns[0] + i);
    hn::StoreU(sum_y, d, columns[1] + i);
  });
  *along_x = SumOfColumns(columns[0]);
  *along_y = SumOfColumns(columns[1]);
}

void SumOfDifferences(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t count,
                      float* sum) {
  float eighths[8];
  const size_t whole = count / 8 * 8;
  ForEachVector(8, [&](auto d, size_t lane) HWY_ATTR {
    auto all = hn::Zero(d);
    for (size_t i = lane; i < whole; i += 8)
      all = hn::Add(all, hn::AbsDiff(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    hn::StoreU(all, d, eighths + lane);
  });
  *sum = 0;
  for (const float eighth : eighths) *sum += eighth;
  for (size_t i = whole; i < count; ++i) *sum += std::fabs(a[i] - b[i]);
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(SamplePatch);
HWY_EXPORT(MatchPatch);
HWY_EXPORT(SumOfDifferences);

void sample_patch(const PatchPlace& place, Patch* patch) {
  HWY_DYNAMIC_DISPATCH(SamplePatch)(place, patch);
}

void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y) {
  HWY_DYNAMIC_DISPATCH(MatchPatch)(place, patch, along_x, along_y);
}

float sum_of_differences(const float* a, const float* b, size_t count) {
  float sum = 0;
  HWY_DYNAMIC_DISPATCH(SumOfDifferences)(a, b, count, &sum);
  return sum;
}

namespace plain {

static float between(const PatchPlace& place, const float* at) {
  const float *low = at + place.stride, right = place.right;
  const float upper = at[0] + right * (at[1] - at[0]), lower = low[0] + right * (low[1] - low[0]);
  return upper + place.below * (lower - upper);
}

void sample_patch(const PatchPlace& place, Patch* patch) {
  for (size_t k = 0; k < kPatchFloats; ++k) {
    const float* at = place.first + k / kPatchStride * place.stride + k % kPatchStride;
    patch->values[k] = between(place, at);
    patch->along_x[k] = (between(place, at + 1) - between(place, at - 1)) * 0.5f;
    patch->along_y[k] =
        (between(place, at + place.stride) - between(place, at - place.stride)) * 0.5f;
  }
}

// Sums value(k) over the elements that count of a patch.
template <typename Value>
static float sum_of(Value value) {
  float all = 0;
  for (size_t i = 0; i < kPatchSize; ++i) {
    float column = 0;
    for (size_t k = i; k < kPatchFloats; k += kPatchStride) column += value(k);
    all += column;
  }
  return all;
}

void match_patch(const PatchPlace& place, const Patch& patch, float* along_x, float* along_y) {
  const auto off = [&](size_t k) {
    const float* at = place.first + k / kPatchStride * place.stride + k % kPatchStride;
    return between(place, at) - patch.values[k];
  };
  const float mean = sum_of(off) / (kPatchSize * kPatchSize);
  *along_x = sum_of([&](size_t k) { return patch.along_x[k] * (off(k) - mean); });
  *along_y = sum_of([&](size_t k) { return patch.along_y[k] * (off(k) - mean); });
}

float sum_of_differences(const float* a, const float* b, size_t count) {
  const size_t whole = count / 8 * 8;
  float sum = 0;
  for (size_t lane = 0; lane < 8; ++lane) {
    float eighth = 0;
    for (size_t i = lane; i < whole; i += 8) eighth += std::fabs(a[i] - b[i]);
    sum += eighth;
  }
  for (size_t i = whole; i < count; ++i) sum += std::fabs(a[i] - b[i]);
  return sum;
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
