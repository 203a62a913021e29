// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/windows/shrink.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

// Longest step for which the sum of two rows of bytes, at most 255 each, is below 65,536.
constexpr size_t kMostFolded = 128;

// Adds pairs or triples of sums in place, to `count` sums; only elements already read are written.
template <size_t kOf>
HWY_INLINE void FoldSums(size_t count, uint16_t* sums) {
  ForEachVector<uint16_t>(count, [&](auto d, size_t i) HWY_ATTR {
    hn::Vec<decltype(d)> a, b, c;
    if constexpr (kOf == 2) {
      hn::LoadInterleaved2(d, sums + 2 * i, a, b);
      hn::StoreU(hn::Add(a, b), d, sums + i);
    } else {
      hn::LoadInterleaved3(d, sums + 3 * i, a, b, c);
      hn::StoreU(hn::Add(hn::Add(a, b), c), d, sums + i);
    }
  });
}

void ShrinkRows(const uint8_t* HWY_RESTRICT first, const uint8_t* HWY_RESTRICT second, size_t count,
                size_t step, float scale, uint16_t* HWY_RESTRICT sums, float* HWY_RESTRICT to) {
  ForEachVector<uint16_t>(count * step, [&](auto d, size_t i) HWY_ATTR {
    const hn::Rebind<uint8_t, decltype(d)> bytes;
    auto sum = hn::PromoteTo(d, hn::LoadU(bytes, first + i));
    if (second) sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(bytes, second + i)));
    hn::StoreU(sum, d, sums + i);
  });
  size_t left = step;
  for (; step <= kMostFolded && left % 3 == 0; left /= 3) FoldSums<3>(count * (left / 3), sums);
  for (; step <= kMostFolded && left % 2 == 0; left /= 2) FoldSums<2>(count * (left / 2), sums);
  if (left > 1) {
    for (size_t x = 0; x < count; ++x) {
      uint32_t all = 0;
      for (size_t i = x * left; i < (x + 1) * left; ++i) all += sums[i];
      to[x] = scale * static_cast<float>(all);
    }
    return;
  }
  ForEachVector(count, [&](auto d, size_t i) HWY_ATTR {
    const hn::Rebind<uint16_t, decltype(d)> shorts;
    const hn::Rebind<int32_t, decltype(d)> ints;
    const auto all = hn::ConvertTo(d, hn::PromoteTo(ints, hn::LoadU(shorts, sums + i)));
    hn::StoreU(hn::Mul(hn::Set(d, scale), all), d, to + i);
  });
}

void HalveRows(const float* HWY_RESTRICT first, const float* HWY_RESTRICT second, size_t count,
               float* HWY_RESTRICT to) {
  ForEachVector(count, [&](auto d, size_t i) HWY_ATTR {
    hn::Vec<decltype(d)> a, b, e, f;
    hn::LoadInterleaved2(d, first + 2 * i, a, b);
    hn::LoadInterleaved2(d, second + 2 * i, e, f);
    const auto sum = hn::Add(hn::Add(hn::Add(a, b), e), f);
    hn::StoreU(hn::Mul(sum, hn::Set(d, 0.25f)), d, to + i);
  });
}

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(ShrinkRows);
HWY_EXPORT(HalveRows);

void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t* sums, float* to) {
  HWY_DYNAMIC_DISPATCH(ShrinkRows)(first, second, count, step, scale, sums, to);
}

void halve_rows(const float* first, const float* second, size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(HalveRows)(first, second, count, to);
}

namespace plain {

void shrink_rows(const uint8_t* first, const uint8_t* second, size_t count, size_t step,
                 float scale, uint16_t*, float* to) {
  for (size_t x = 0; x < count; ++x) {
    uint32_t all = 0;
    for (size_t i = x * step; i < (x + 1) * step; ++i)
      all += first[i] + (second ? second[i] : uint8_t{0});
    to[x] = scale * static_cast<float>(all);
  }
}

void halve_rows(const float* first, const float* second, size_t count, float* to) {
  for (size_t x = 0; x < 2 * count; x += 2)
    to[x / 2] = (first[x] + first[x + 1] + second[x] + second[x + 1]) * 0.25f;
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
