// SPDX-License-Identifier: Apache-2.0
#include "softdv/convolutions/direct_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/convolutions/direct_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/convolutions/register_finish-inl.h"

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
constexpr size_t kMostPanels = 2, kMostPixels = 14, kMostPixelsOfOne = 24;
#elif HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr size_t kMostPanels = 1, kMostPixelsOfOne = 6;
#else
constexpr size_t kMostPanels = 1, kMostPixelsOfOne = 2;
#endif

// The lanes of a vector are 16 channels of a pixel, which are two chunks of memory, or fewer of
// one.
#if HWY_TARGET <= HWY_AVX3
using Bits = hn::RebindToUnsigned<Halves>;
using HalfBits = hn::Half<Bits>;

HWY_INLINE hn::Vec<Floats> LoadChunks(const half_t* from, size_t plane, bool both) {
  const auto low = hn::LoadU(HalfBits(), from);
  const auto high = both ? hn::LoadU(HalfBits(), from + plane) : hn::Zero(HalfBits());
  return hn::PromoteTo(Floats(), hn::BitCast(Halves(), hn::Combine(Bits(), high, low)));
}

HWY_INLINE void StoreChunks(hn::Vec<Floats> values, half_t* to, size_t plane, bool both) {
  const auto bits = hn::BitCast(Bits(), hn::DemoteTo(Halves(), values));
  hn::StoreU(hn::LowerHalf(HalfBits(), bits), HalfBits(), to);
  if (both) hn::StoreU(hn::UpperHalf(HalfBits(), bits), HalfBits(), to + plane);
}

HWY_INLINE void StoreChunks(hn::Vec<Floats> values, float* to, size_t plane) {
  const hn::Half<Floats> chunk;
  hn::StoreU(hn::LowerHalf(chunk, values), chunk, to);
  hn::StoreU(hn::UpperHalf(chunk, values), chunk, to + plane);
}
#else
HWY_INLINE hn::Vec<Floats> LoadChunks(const half_t* from, size_t, bool) {
  return LoadHalves(Floats(), from);
}

HWY_INLINE void StoreChunks(hn::Vec<Floats> values, half_t* to, size_t, bool) {
  StoreHalves(Floats(), values, to);
}

HWY_INLINE void StoreChunks(hn::Vec<Floats> values, float* to, size_t) {
  hn::StoreU(values, Floats(), to);
}
#endif

template <size_t kVectors, size_t kPixels>
HWY_INLINE void StoreFloats(const hn::Vec<Floats> (&sums)[kVectors][kPixels],
                            const DirectPixels& pixels) {
  HWY_UNROLL(24)
  for (size_t p = 0; p < kPixels; ++p) {
    HWY_UNROLL(24)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t channel = v * kLanes;
      StoreChunks(sums[v][p], pixels.floats + channel / 8 * pixels.plane + p * 8 + channel % 8,
                  pixels.plane);
    }
  }
}

// `pixel` is the first one's number from where `finish` points to.
template <size_t kVectors, size_t kPixels>
HWY_INLINE void StoreFinished(hn::Vec<Floats> (&sums)[kVectors][kPixels],
                              const RegisterFinish& finish, size_t pixel) {
  const Floats d;
  HWY_UNROLL(24)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t chunk = v * kLanes / 8;
    if (chunk >= finish.chunks) break;
    const bool both = chunk + 1 < finish.chunks;
    const size_t at = chunk * finish.plane + pixel * 8 + v * kLanes % 8;
    if (finish.addend) {
      HWY_UNROLL(24)
      for (size_t p = 0; p < kPixels; ++p) {
        sums[v][p] =
            hn::Add(sums[v][p], LoadChunks(finish.addend + at + p * 8, finish.plane, both));
      }
    }
    const auto slope =
        finish.slopes ? hn::LoadU(d, finish.slopes + v * kLanes) : hn::Set(d, finish.slope);
    Activate(d, finish.activation, slope, sums[v], kPixels);
    HWY_UNROLL(24)
    for (size_t p = 0; p < kPixels; ++p) {
      StoreChunks(sums[v][p], finish.to + at + p * 8, finish.plane, both);
    }
  }
}

HWY_INLINE const hwy::float16_t* FirstWeight(const DirectWeights& weights, half_t) {
  return reinterpret_cast<const hwy::float16_t*>(weights.halves);
}
HWY_INLINE const float* FirstWeight(const DirectWeights& weights, float) {
  return weights.floats;
}

HWY_INLINE hn::Vec<Floats> LoadWeights(const hwy::float16_t* from) {
  return hn::PromoteTo(Floats(), hn::LoadU(Halves(), from));
}
HWY_INLINE hn::Vec<Floats> LoadWeights(const float* from) {
  return hn::LoadU(Floats(), from);
}

// One block of results. kStep: floats from one pixel's source to the next one's; 0: as `pixels`
// says. `pixel` is the block's first.
template <typename Weight, size_t kPanels, size_t kPixels, size_t kStep>
HWY_INLINE void ConvolveBlock(const DirectPixels& pixels, size_t pixel,
                              const DirectWeights& weights) {
  constexpr size_t kVectors = kPanels * kPanelChannels / kLanes;
  constexpr size_t kVectorsOfPanel = kPanelChannels / kLanes;
  const Floats d;
  const size_t step = kStep ? kStep : pixels.step;
  hn::Vec<Floats> sums[kVectors][kPixels];
  HWY_UNROLL(24)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto bias = hn::LoadU(d, weights.bias + v * kLanes);
    HWY_UNROLL(24)
    for (size_t p = 0; p < kPixels; ++p) sums[v][p] = bias;
  }
  const auto* row = FirstWeight(weights, Weight());
  for (size_t t = 0; t < weights.tap_count; ++t) {
    const DirectTap tap = weights.taps[t];
    const float* from = pixels.from + pixel * step + tap.offset;
    for (const float* const end = from + tap.values; from < end; ++from) {
      hn::Vec<Floats> w[kVectors];
      HWY_UNROLL(24)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto* at = row + v / kVectorsOfPanel * weights.panel + v % kVectorsOfPanel * kLanes;
        w[v] = LoadWeights(at);
      }
      row += kPanelChannels;
      HWY_UNROLL(24)
      for (size_t p = 0; p < kPixels; ++p) {
        const auto value = hn::Set(d, from[p * step]);
        HWY_UNROLL(24)
        for (size_t v = 0; v < kVectors; ++v) sums[v][p] = hn::MulAdd(value, w[v], sums[v][p]);
      }
    }
  }
  if (pixels.finish) return StoreFinished(sums, *pixels.finish, pixel);
  DirectPixels to = pixels;
  to.floats += pixel * 8;
  StoreFloats(sums, to);
}

// All pixels by some panels, in blocks of kPixels; the last block repeats some of the one before.
template <typename Weight, size_t kPanels, size_t kPixels, size_t kStep>
void ConvolveBlocks(const DirectPixels& pixels, const DirectWeights& weights) {
  for (size_t done = 0; done < pixels.count; done += kPixels) {
    ConvolveBlock<Weight, kPanels, kPixels, kStep>(pixels, std::min(done, pixels.count - kPixels),
                                                   weights);
  }
}

template <typename Weight, size_t kPanels, size_t kStep, size_t kPixels>
HWY_INLINE void ChooseBlocks(size_t size, const DirectPixels& pixels,
                             const DirectWeights& weights) {
  if constexpr (kPixels > 1) {
    if (size < kPixels)
      return ChooseBlocks<Weight, kPanels, kStep, kPixels - 1>(size, pixels, weights);
  }
  ConvolveBlocks<Weight, kPanels, kPixels, kStep>(pixels, weights);
}

template <size_t kPanels, size_t kMostPixels>
HWY_INLINE void ChooseStep(const DirectPixels& pixels, const DirectWeights& weights) {
  const size_t blocks = (pixels.count + kMostPixels - 1) / kMostPixels;
  const size_t size = (pixels.count + blocks - 1) / blocks;
  if (weights.floats) return ChooseBlocks<float, kPanels, 8, kMostPixels>(size, pixels, weights);
  if (pixels.step == 8) {
    return ChooseBlocks<half_t, kPanels, 8, kMostPixels>(size, pixels, weights);
  }
  if (pixels.step == 16) {
    return ChooseBlocks<half_t, kPanels, 16, kMostPixels>(size, pixels, weights);
  }
  if (pixels.step == 6) {  // pictures of 3 channels
    return ChooseBlocks<half_t, kPanels, 6, kMostPixels>(size, pixels, weights);
  }
  ChooseBlocks<half_t, kPanels, 0, kMostPixels>(size, pixels, weights);
}

void ConvolvePixels(const DirectPixels& pixels, const DirectWeights& weights) {
  DirectPixels to = pixels;
  DirectWeights by = weights;
  RegisterFinish finish = {};
  if (pixels.finish) {
    finish = *pixels.finish;
    to.finish = &finish;
  }
  for (size_t left = weights.panels; left > 0;) {
    const size_t panels = std::min(left, kMostPanels);
#if HWY_TARGET <= HWY_AVX3
    if (panels == kMostPanels) ChooseStep<kMostPanels, kMostPixels>(to, by);
#endif
    if (panels == 1) ChooseStep<1, kMostPixelsOfOne>(to, by);
    left -= panels;
    if (by.halves) by.halves += panels * weights.panel;
    if (by.floats) by.floats += panels * weights.panel;
    by.bias += panels * kPanelChannels;
    to.floats += 2 * panels * pixels.plane;
    if (!pixels.finish) continue;
    finish.to += 2 * panels * finish.plane;
    if (finish.addend) finish.addend += 2 * panels * finish.plane;
    finish.chunks -= std::min(finish.chunks, 2 * panels);
    if (finish.slopes) finish.slopes += panels * kPanelChannels;
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
