// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/reductions.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/peaks.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Keeps four independent maxima, because each maximum waits for the one before it.
float Largest(const float* from, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto a = none, b = none, e = none, f = none;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = MaxOf(a, hn::LoadU(d, from + i));
    b = MaxOf(b, hn::LoadU(d, from + i + lanes));
    e = MaxOf(e, hn::LoadU(d, from + i + 2 * lanes));
    f = MaxOf(f, hn::LoadU(d, from + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = MaxOf(a, hn::LoadU(d, from + i));
  float best = hn::GetLane(hn::MaxOfLanes(d, MaxOf(MaxOf(a, b), MaxOf(e, f))));
  for (; i < count; ++i) best = best < from[i] ? from[i] : best;
  return best;
}

// Finds the maximum first and its index afterwards: cheaper than carrying indices along.
size_t FirstLargest(const float* from, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const float most = Largest(from, count);
  const auto wanted = hn::Set(d, most);
  size_t i = 0;
  while (i + lanes <= count && hn::AllFalse(d, hn::Eq(hn::LoadU(d, from + i), wanted))) i += lanes;
  while (i < count && from[i] != most) ++i;
  return i < count ? i : 0;
}

size_t AtLeast(const float* from, size_t count, float bound, uint32_t* at) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(d, bound);
  size_t found = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (hn::AllFalse(d, hn::Ge(hn::LoadU(d, from + i), least))) continue;
    for (size_t k = i; k < i + lanes; ++k) {
      if (from[k] >= bound) at[found++] = static_cast<uint32_t>(k);
    }
  }
  for (; i < count; ++i) {
    if (from[i] >= bound) at[found++] = static_cast<uint32_t>(i);
  }
  return found;
}

void Raise(const float* from, int32_t index, float* best, int32_t* which, size_t count) {
  ForEachVector(count, [=](auto d, size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto value = hn::LoadU(d, from + i), old = hn::LoadU(d, best + i);
    const auto better = hn::Lt(old, value);
    hn::StoreU(hn::IfThenElse(better, value, old), d, best + i);
    hn::StoreU(
        hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, index), hn::LoadU(di, which + i)),
        di, which + i);
  });
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(Largest);
HWY_EXPORT(FirstLargest);
HWY_EXPORT(AtLeast);
HWY_EXPORT(Raise);

float largest(const float* from, size_t count) {
  return HWY_DYNAMIC_DISPATCH(Largest)(from, count);
}

size_t first_largest(const float* from, size_t count) {
  return HWY_DYNAMIC_DISPATCH(FirstLargest)(from, count);
}

size_t at_least(const float* from, size_t count, float bound, uint32_t* at) {
  return HWY_DYNAMIC_DISPATCH(AtLeast)(from, count, bound, at);
}

void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count) {
  HWY_DYNAMIC_DISPATCH(Raise)(from, index, best, which, count);
}

namespace plain {

void raise(const float* from, int32_t index, float* best, int32_t* which, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!(best[i] < from[i])) continue;
    best[i] = from[i];
    which[i] = index;
  }
}

float largest(const float* from, size_t count) {
  float best = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < count; ++i) best = best < from[i] ? from[i] : best;
  return best;
}

size_t first_largest(const float* from, size_t count) {
  const float most = largest(from, count);
  for (size_t i = 0; i < count; ++i) {
    if (from[i] == most) return i;
  }
  return 0;
}

size_t at_least(const float* from, size_t count, float bound, uint32_t* at) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (from[i] >= bound) at[found++] = static_cast<uint32_t>(i);
  }
  return found;
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
