// SPDX-License-Identifier: Apache-2.0
#include "softdv/direct_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/direct_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kPanelChannels>;
using Halves = hn::Rebind<hwy::float16_t, Floats>;
constexpr size_t kLanes = hn::MaxLanes(Floats());

// What fits into the registers: sums of kMostPixels pixels by kMostPanels panels, the weights that
// they are multiplied with, and a source value.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kMostPanels = 2, kMostPixels = 14;
#elif HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr size_t kMostPanels = 1, kMostPixels = 6;
#else
constexpr size_t kMostPanels = 1, kMostPixels = 2;
#endif

// One block of results. kStep: floats from one pixel's source to the next one's; 0: as `pixels`
// says.
template <size_t kPanels, size_t kPixels, size_t kStep>
HWY_INLINE void ConvolveBlock(const DirectPixels& pixels, const DirectWeights& weights) {
  constexpr size_t kVectors = kPanels * kPanelChannels / kLanes;
  constexpr size_t kVectorsOfPanel = kPanelChannels / kLanes;
  const Floats d;
  const Halves halves;
  const size_t step = kStep ? kStep : pixels.step;
  hn::Vec<Floats> sums[kVectors][kPixels];
  HWY_UNROLL(16)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto bias = hn::LoadU(d, weights.bias + v * kLanes);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPixels; ++p) sums[v][p] = bias;
  }
  const auto* row = reinterpret_cast<const hwy::float16_t*>(weights.values);
  for (size_t t = 0; t < weights.tap_count; ++t) {
    const DirectTap tap = weights.taps[t];
    const float* from = pixels.from + tap.offset;
    for (const float* const end = from + tap.channels; from < end; ++from) {
      hn::Vec<Floats> w[kVectors];
      HWY_UNROLL(16)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto* at = row + v / kVectorsOfPanel * weights.panel + v % kVectorsOfPanel * kLanes;
        w[v] = hn::PromoteTo(d, hn::LoadU(halves, at));
      }
      row += kPanelChannels;
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPixels; ++p) {
        const auto value = hn::Set(d, from[p * step]);
        HWY_UNROLL(16)
        for (size_t v = 0; v < kVectors; ++v) sums[v][p] = hn::MulAdd(value, w[v], sums[v][p]);
      }
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPixels; ++p) {
    HWY_UNROLL(16)
    for (size_t v = 0; v < kVectors; ++v) {
      float* const to = pixels.to + v * kLanes / 8 * pixels.plane + p * 8 + v * kLanes % 8;
#if HWY_TARGET <= HWY_AVX3
      const hn::Half<Floats> chunk;
      hn::StoreU(hn::LowerHalf(chunk, sums[v][p]), chunk, to);
      hn::StoreU(hn::UpperHalf(chunk, sums[v][p]), chunk, to + pixels.plane);
#else
      hn::StoreU(sums[v][p], d, to);
#endif
    }
  }
}

// All pixels by some panels, in blocks of kPixels; the last block repeats some of the one before.
template <size_t kPanels, size_t kPixels, size_t kStep>
void ConvolveBlocks(const DirectPixels& pixels, const DirectWeights& weights) {
  DirectPixels block = pixels;
  for (size_t done = 0; done < pixels.count; done += kPixels) {
    const size_t first = std::min(done, pixels.count - kPixels);
    block.from = pixels.from + first * pixels.step;
    block.to = pixels.to + first * 8;
    ConvolveBlock<kPanels, kPixels, kStep>(block, weights);
  }
}

template <size_t kPanels, size_t kStep, size_t kPixels = kMostPixels>
HWY_INLINE void ChooseBlocks(size_t size, const DirectPixels& pixels,
                             const DirectWeights& weights) {
  if constexpr (kPixels > 1) {
    if (size < kPixels) return ChooseBlocks<kPanels, kStep, kPixels - 1>(size, pixels, weights);
  }
  ConvolveBlocks<kPanels, kPixels, kStep>(pixels, weights);
}

template <size_t kPanels>
HWY_INLINE void ChooseStep(const DirectPixels& pixels, const DirectWeights& weights) {
  const size_t blocks = (pixels.count + kMostPixels - 1) / kMostPixels;
  const size_t size = (pixels.count + blocks - 1) / blocks;
  if (pixels.step == 8) return ChooseBlocks<kPanels, 8>(size, pixels, weights);
  if (pixels.step == 16) return ChooseBlocks<kPanels, 16>(size, pixels, weights);
  ChooseBlocks<kPanels, 0>(size, pixels, weights);
}

void ConvolvePixels(const DirectPixels& pixels, const DirectWeights& weights) {
  DirectPixels to = pixels;
  DirectWeights by = weights;
  for (size_t left = weights.panels; left > 0;) {
    const size_t panels = std::min(left, kMostPanels);
    if constexpr (kMostPanels > 1) {
      if (panels == kMostPanels) ChooseStep<kMostPanels>(to, by);
    }
    if (panels == 1) ChooseStep<1>(to, by);
    left -= panels;
    by.values += panels * weights.panel;
    by.bias += panels * kPanelChannels;
    to.to += 2 * panels * pixels.plane;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(ConvolvePixels);

}  // namespace

void convolve_pixels(const DirectPixels& pixels, const DirectWeights& weights) {
  HWY_DYNAMIC_DISPATCH(ConvolvePixels)(pixels, weights);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
