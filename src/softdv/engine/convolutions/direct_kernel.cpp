// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/direct_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/direct_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/finish/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kPanelChannels>;
using Halves = hn::Rebind<hwy::float16_t, Floats>;
constexpr size_t kLanes = hn::MaxLanes(Floats());

// Numbers of pixels per iteration. Registers hold the sums of these pixels for kVectors vectors of
// channels, their weights, and a source value. `Frequent` sizes are for sources whose pixels are 8
// floats apart; they include those for other sources.
template <size_t... kPixels>
struct Sizes {};

template <size_t... kPixels>
constexpr bool HasSize(size_t size, Sizes<kPixels...>) {
  return ((size == kPixels) || ...);
}

template <size_t... kPixels, class Choice>
constexpr bool AreAmong(Sizes<kPixels...>, Choice sizes) {
  return (HasSize(kPixels, sizes) && ...);
}

// Two panels if there are many registers; else one, or the single chunk of the last panel.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kMostVectors = 2, kLeastVectors = 1;
#else
constexpr size_t kMostVectors = kPanelChannels / kLanes, kLeastVectors = kMostVectors / 2;
#endif
template <size_t kVectors, bool kFrequent>
struct BlockSizes;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers need seconds to compile each size.
template <size_t kVectors, bool kFrequent>
struct BlockSizes {
  using Type = Sizes<4, 1>;
};
#elif HWY_TARGET <= HWY_AVX3
template <>
struct BlockSizes<2, true> {
  using Type = Sizes<14, 13, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1>;
};
template <>
struct BlockSizes<2, false> {
  using Type = Sizes<14, 12, 10, 8, 7, 5, 4, 2, 1>;
};
template <>
struct BlockSizes<1, true> {
  using Type = Sizes<24, 20, 16, 12, 8, 6, 4, 2, 1>;
};
template <>
struct BlockSizes<1, false> {
  using Type = Sizes<20, 16, 8, 4, 2, 1>;
};
#elif HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
template <>
struct BlockSizes<kMostVectors, true> {
  using Type = Sizes<6, 5, 4, 3, 2, 1>;
};
template <>
struct BlockSizes<kMostVectors, false> {
  using Type = Sizes<6, 5, 4, 2, 1>;
};
template <>
struct BlockSizes<kLeastVectors, true> {
  using Type = Sizes<12, 10, 8, 6, 4, 2, 1>;
};
template <>
struct BlockSizes<kLeastVectors, false> {
  using Type = Sizes<12, 8, 4, 2, 1>;
};
#else
template <size_t kVectors, bool kFrequent>
struct BlockSizes {
  using Type = Sizes<kVectors == kMostVectors ? 2 : 4, 1>;
};
#endif

// A vector's lanes are 16 channels of a pixel, which are two chunks in memory, or fewer of one
// chunk.
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

// Stores two adjacent pixels of each chunk at once: half as many stores, which are the bottleneck.
HWY_INLINE void StorePair(hn::Vec<Floats> first, hn::Vec<Floats> second, half_t* to, size_t plane,
                          bool both) {
  StoreHalves(Floats(), hn::ConcatLowerLower(Floats(), second, first), to);
  if (both) StoreHalves(Floats(), hn::ConcatUpperUpper(Floats(), second, first), to + plane);
}

HWY_INLINE void StorePair(hn::Vec<Floats> first, hn::Vec<Floats> second, float* to, size_t plane) {
  hn::StoreU(hn::ConcatLowerLower(Floats(), second, first), Floats(), to);
  hn::StoreU(hn::ConcatUpperUpper(Floats(), second, first), Floats(), to + plane);
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

template <typename To, typename... Plane>
HWY_INLINE void StorePair(hn::Vec<Floats> first, hn::Vec<Floats> second, To* to, Plane... plane) {
  StoreChunks(first, to, plane...);
  StoreChunks(second, to + 8, plane...);
}
#endif

// Stores a vector for each of several pixels.
template <size_t kPixels, typename To, typename... Plane>
HWY_INLINE void StorePixels(const hn::Vec<Floats> (&pixels)[kPixels], To* to, Plane... plane) {
  HWY_UNROLL(12)
  for (size_t p = 0; p + 1 < kPixels; p += 2) {
    StorePair(pixels[p], pixels[p + 1], to + p * 8, plane...);
  }
  if (kPixels % 2 == 1) StoreChunks(pixels[kPixels - 1], to + (kPixels - 1) * 8, plane...);
}

template <size_t kVectors, size_t kPixels>
HWY_INLINE void StoreFloats(const hn::Vec<Floats> (&sums)[kVectors][kPixels],
                            const DirectPixels& pixels, size_t pixel) {
  HWY_UNROLL(24)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t at = v * kLanes / 8 * pixels.plane + v * kLanes % 8 + pixel * 8;
    StorePixels(sums[v], pixels.floats + at, pixels.plane);
  }
}

// `pixel`: index of the first one from where `finish` points to; `chunks`: number to store.
template <size_t kVectors, size_t kPixels>
HWY_INLINE void StoreFinished(hn::Vec<Floats> (&sums)[kVectors][kPixels],
                              const RegisterFinish& finish, size_t pixel, size_t chunks) {
  const Floats d;
  HWY_UNROLL(24)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t chunk = v * kLanes / 8;
    if (chunk >= chunks) break;
    const bool both = chunk + 1 < chunks;
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
    StorePixels(sums[v], finish.to + at, finish.plane, both);
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

// Adds a block's sources times their weights. kStep: floats between two pixels' sources; 0: as
// `pixels` says. `pixel`: index of the block's first one.
template <typename Weight, size_t kStep, size_t kVectors, size_t kPixels>
HWY_INLINE void AddProducts(const DirectPixels& pixels, size_t pixel, const DirectWeights& weights,
                            hn::Vec<Floats> (&sums)[kVectors][kPixels]) {
  constexpr size_t kVectorsOfPanel = kPanelChannels / kLanes;
  constexpr size_t kCacheLine = 64;
  constexpr int kForReading = 0, kSecondLevel = 2;  // the builtin's second and third argument
  const Floats d;
  const size_t step = kStep ? kStep : pixels.step;
  const auto* row = FirstWeight(weights, Weight());
  FetchedAhead ahead = *weights.ahead;
  for (size_t t = 0; t < weights.tap_count; ++t) {
    const DirectTap tap = weights.taps[t];
    if (ahead.next < ahead.end) {
      __builtin_prefetch(ahead.next, kForReading, kSecondLevel);
      ahead.next += kCacheLine;
    }
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
  weights.ahead->next = ahead.next;
}

// Computes one block of results. The kinds of sources and weights are chosen within it, because the
// code before and after the products is larger, and the same for all kinds.
template <size_t kVectors, size_t kPixels>
HWY_INLINE void ConvolveBlock(const DirectPixels& pixels, size_t pixel,
                              const DirectWeights& weights) {
  hn::Vec<Floats> sums[kVectors][kPixels];
  HWY_UNROLL(24)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto bias = hn::LoadU(Floats(), weights.bias + v * kLanes);
    HWY_UNROLL(24)
    for (size_t p = 0; p < kPixels; ++p) sums[v][p] = bias;
  }
  if (weights.floats && pixels.step == 8) {
    AddProducts<float, 8>(pixels, pixel, weights, sums);
  } else if (pixels.step == 8) {
    AddProducts<half_t, 8>(pixels, pixel, weights, sums);
  } else if constexpr (HasSize(kPixels, typename BlockSizes<kVectors, false>::Type())) {
    if (weights.floats) {
      AddProducts<float, 0>(pixels, pixel, weights, sums);
    } else if (pixels.step == 16) {
      AddProducts<half_t, 16>(pixels, pixel, weights, sums);
    } else if (pixels.step == 6) {  // images of 3 channels
      AddProducts<half_t, 6>(pixels, pixel, weights, sums);
    } else {
      AddProducts<half_t, 0>(pixels, pixel, weights, sums);
    }
  }
  if (pixels.finish) return StoreFinished(sums, *pixels.finish, pixel, weights.chunks);
  StoreFloats(sums, pixels, pixel);
}

// Computes `blocks` blocks of kPixels, from `pixel` on.
template <size_t kVectors, size_t kPixels>
void ConvolveBlocks(const DirectPixels& pixels, size_t pixel, size_t blocks,
                    const DirectWeights& weights) {
  for (size_t i = 0; i < blocks; ++i) {
    ConvolveBlock<kVectors, kPixels>(pixels, pixel + i * kPixels, weights);
  }
}

// Chooses the sizes of blocks that take least time together. Cost: two vectors are multiplied at
// once, a sum's next product waits for the time of four such pairs, and the code before and after
// the products takes time of its own.
template <size_t kVectors, class Choice>
class Blocks {
 public:
  static constexpr size_t kCounts = 128;
  constexpr Blocks() {
    size_t least[kCounts] = {};
    for (size_t count = 1; count < kCounts; ++count) Find(count, least, Choice());
  }
  // Returns the size of the first block of `count` pixels.
  size_t First(size_t count) const { return count < kCounts ? first_[count] : first_[0]; }

 private:
  template <size_t... kPixels>
  constexpr void Find(size_t count, size_t (&least)[kCounts], Sizes<kPixels...>) {
    constexpr size_t kOwnTime = 2, kWait = 8;
    least[count] = ~size_t{0};
    first_[0] = std::max({static_cast<uint8_t>(kPixels)...});
    for (const size_t size : {kPixels...}) {
      if (size > count) continue;
      const size_t time =
          std::max(kVectors * size, kWait) + kVectors * kOwnTime + least[count - size];
      if (time >= least[count]) continue;
      least[count] = time;
      first_[count] = static_cast<uint8_t>(size);
    }
  }
  uint8_t first_[kCounts] = {};
};

template <size_t kVectors, size_t... kPixels>
HWY_INLINE void ConvolveBySize(const DirectPixels& pixels, size_t pixel, size_t blocks, size_t size,
                               const DirectWeights& weights, Sizes<kPixels...>) {
  (void)((size == kPixels &&
          (ConvolveBlocks<kVectors, kPixels>(pixels, pixel, blocks, weights), true)) ||
         ...);
}

template <size_t kVectors, class Choice>
HWY_INLINE void ConvolveChosen(const DirectPixels& pixels, const DirectWeights& weights, Choice) {
  static constexpr Blocks<kVectors, Choice> kBlocks;
  constexpr typename BlockSizes<kVectors, true>::Type all;
  for (size_t done = 0; done < pixels.count;) {
    const size_t size = kBlocks.First(pixels.count - done);
    size_t end = done + size;
    while (end < pixels.count && kBlocks.First(pixels.count - end) == size) end += size;
    ConvolveBySize<kVectors>(pixels, done, (end - done) / size, size, weights, all);
    done = end;
  }
}

template <size_t kVectors>
HWY_INLINE void ConvolveVectors(const DirectPixels& pixels, const DirectWeights& weights) {
  constexpr typename BlockSizes<kVectors, true>::Type frequent;
  constexpr typename BlockSizes<kVectors, false>::Type others;
  static_assert(AreAmong(others, frequent), "a size without a function would compute nothing");
  if (pixels.step == 8) return ConvolveChosen<kVectors>(pixels, weights, frequent);
  ConvolveChosen<kVectors>(pixels, weights, others);
}

bool RegistersAreFew() {
  return HWY_TARGET > HWY_AVX3;
}

void ConvolvePixels(const DirectPixels& pixels, const DirectWeights& weights) {
  constexpr size_t kMostChunks = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  DirectPixels to = pixels;
  DirectWeights by = weights;
  RegisterFinish finish = {};
  if (pixels.finish) {
    finish = *pixels.finish;
    to.finish = &finish;
  }
  for (;;) {
    if (by.chunks > kMostChunks / 2) {
      ConvolveVectors<kMostVectors>(to, by);
    } else {
      ConvolveVectors<kLeastVectors>(to, by);
    }
    if (by.chunks <= kMostChunks) return;
    by.chunks -= kMostChunks;
    constexpr size_t kPanels = kMostChunks / 2;
    if (by.halves) by.halves += kPanels * weights.panel;
    if (by.floats) by.floats += kPanels * weights.panel;
    by.bias += kPanels * kPanelChannels;
    to.floats += kMostChunks * pixels.plane;
    if (!pixels.finish) continue;
    finish.to += kMostChunks * finish.plane;
    if (finish.addend) finish.addend += kMostChunks * finish.plane;
    if (finish.slopes) finish.slopes += kPanels * kPanelChannels;
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(RegistersAreFew);
HWY_EXPORT(ConvolvePixels);

}  // namespace

bool registers_are_few() {
  return HWY_DYNAMIC_DISPATCH(RegistersAreFew)();
}

void convolve_pixels(const DirectPixels& pixels, const DirectWeights& weights) {
  HWY_DYNAMIC_DISPATCH(ConvolvePixels)(pixels, weights);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
