// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/direct_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/convolutions/convert_ahead-inl.h"
#include "softdv/engine/finish/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a block computes at once: kCount vectors of the channels of each of its pixels.
template <class Tag, size_t kCount>
struct Width {
  using D = Tag;
  static constexpr size_t kVectors = kCount, kLanes = hn::MaxLanes(D());
  static constexpr size_t kChunks = kVectors * kLanes / 8;
};
using Floats = hn::CappedTag<float, kPanelChannels>;
constexpr size_t kPanelVectors = kPanelChannels / hn::MaxLanes(Floats());

// Two panels if there are many registers, else one; a panel; and the last one's single chunk, by
// vectors of half the length if those can hold two.
#if HWY_TARGET <= HWY_AVX3
using TwoPanels = Width<Floats, 2>;
using Panel = Width<Floats, 1>;
using Chunk = Width<hn::Half<Floats>, 1>;
using Widest = TwoPanels;
#else
using Panel = Width<Floats, kPanelVectors>;
using Chunk = Width<Floats, kPanelVectors / 2>;
using Widest = Panel;
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64
// A panel and the last one's single chunk: alone, that would load a source value for each product.
using PanelAndChunk = Width<Floats, kPanelVectors / 2 * 3>;
#endif

// Without vectors everything is slow, and more forms than one are only larger.
constexpr bool kPlain = HWY_TARGET == HWY_SCALAR;

// Numbers of pixels per iteration. Registers hold the sums of these pixels for each vector of
// channels, their weights, and a source value. `Frequent` sizes are for sources whose pixels are 8
// floats apart; they include those for other sources.
template <size_t... kPixels>
struct Sizes {};

template <size_t... kPixels>
constexpr bool HasSize(size_t size, Sizes<kPixels...>) {
  return ((size == kPixels) || ...);
}

template <size_t kFirst, size_t... kOthers>
constexpr size_t LargestSize(Sizes<kFirst, kOthers...>) {
  static_assert(((kFirst > kOthers) && ...));
  return kFirst;
}

template <size_t... kPixels, class Choice>
constexpr bool AreAmong(Sizes<kPixels...>, Choice sizes) {
  return (HasSize(kPixels, sizes) && ...);
}

template <class W, bool kFrequent>
struct BlockSizes;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers need seconds to compile each size.
template <class W, bool kFrequent>
struct BlockSizes {
  using Type = Sizes<4, 1>;
};
#elif HWY_TARGET <= HWY_AVX3
template <>
struct BlockSizes<TwoPanels, true> {
  using Type = Sizes<14, 13, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1>;
};
template <>
struct BlockSizes<TwoPanels, false> {
  using Type = Sizes<14, 12, 10, 8, 7, 5, 4, 2, 1>;
};
template <>
struct BlockSizes<Panel, true> {
  using Type = Sizes<24, 20, 16, 12, 8, 6, 4, 2, 1>;
};
template <>
struct BlockSizes<Panel, false> {
  using Type = Sizes<20, 16, 8, 4, 2, 1>;
};
template <bool kFrequent>
struct BlockSizes<Chunk, kFrequent> {
  using Type = Sizes<24, 16, 8, 4, 2, 1>;
};
#elif HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64
template <>
struct BlockSizes<Panel, true> {
  using Type = Sizes<6, 5, 4, 3, 2, 1>;
};
template <>
struct BlockSizes<Panel, false> {
  using Type = Sizes<6, 5, 4, 2, 1>;
};
template <bool kFrequent>
struct BlockSizes<PanelAndChunk, kFrequent> {
  using Type = Sizes<4, 2, 1>;
};
template <bool kFrequent>
struct BlockSizes<Chunk, kFrequent> {
  using Type = Sizes<12, 8, 4, 2, 1>;
};
#elif HWY_TARGET == HWY_SCALAR
template <class W, bool kFrequent>
struct BlockSizes {
  using Type = Sizes<1>;
};
#else
template <class W, bool kFrequent>
struct BlockSizes {
  using Type = Sizes<W::kChunks == 1 ? 4 : 2, 1>;
};
#endif

template <class D>
HWY_INLINE void StoreChunk(D d, hn::Vec<D> values, half_t* to) {
  StoreHalves(d, values, to);
}

template <class D>
HWY_INLINE void StoreChunk(D d, hn::Vec<D> values, float* to) {
  hn::StoreU(values, d, to);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadChunks(D d, const half_t* from, size_t) {
  return LoadHalves(d, from);
}

// Stores a vector for each of several pixels.
template <class D, size_t kPixels, typename To>
HWY_INLINE void StorePixels(D d, const hn::Vec<D> (&pixels)[kPixels], To* to, size_t) {
  HWY_UNROLL(24)
  for (size_t p = 0; p < kPixels; ++p) StoreChunk(d, pixels[p], to + p * 8);
}

#if HWY_TARGET <= HWY_AVX3
// The same for vectors of two chunks, which are `plane` values apart.
HWY_INLINE hn::Vec<Floats> LoadChunks(Floats d, const half_t* from, size_t plane) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const hn::RebindToUnsigned<decltype(halves)> bits;
  const hn::Half<decltype(bits)> chunk;
  const auto both = hn::Combine(bits, hn::LoadU(chunk, from + plane), hn::LoadU(chunk, from));
  return hn::PromoteTo(d, hn::BitCast(halves, both));
}

// Two adjacent pixels of each chunk at once: half as many stores, which are the bottleneck.
template <size_t kPixels, typename To>
HWY_INLINE void StorePixels(Floats d, const hn::Vec<Floats> (&pixels)[kPixels], To* to,
                            size_t plane) {
  HWY_UNROLL(12)
  for (size_t p = 0; p + 1 < kPixels; p += 2) {
    StoreChunk(d, hn::ConcatLowerLower(d, pixels[p + 1], pixels[p]), to + p * 8);
    StoreChunk(d, hn::ConcatUpperUpper(d, pixels[p + 1], pixels[p]), to + p * 8 + plane);
  }
  if constexpr (kPixels % 2 == 1) {
    constexpr size_t kLast = kPixels - 1;
    const hn::Half<Floats> chunk;
    StoreChunk(chunk, hn::LowerHalf(chunk, pixels[kLast]), to + kLast * 8);
    StoreChunk(chunk, hn::UpperHalf(chunk, pixels[kLast]), to + kLast * 8 + plane);
  }
}
#endif

// The sums of a block: a vector of channels for each pixel, and then the next one.
template <class W, size_t kPixels>
using Sums = hn::Vec<typename W::D>[W::kVectors][kPixels];

// Returns the place of a vector's first value of a pixel. `plane`: elements from chunk to chunk.
template <class W>
HWY_INLINE size_t PlaceOf(size_t vector, size_t pixel, size_t plane) {
  const size_t channel = vector * W::kLanes;
  return channel / 8 * plane + channel % 8 + pixel * 8;
}

template <class W, size_t kPixels>
HWY_INLINE void StoreFloats(const Sums<W, kPixels>& sums, const DirectPixels& pixels,
                            size_t pixel) {
  HWY_UNROLL(24)
  for (size_t v = 0; v < W::kVectors; ++v) {
    StorePixels(typename W::D(), sums[v], pixels.floats + PlaceOf<W>(v, pixel, pixels.plane),
                pixels.plane);
  }
}

// `pixel`: index of the first one from where `finish` points to.
template <class W, size_t kPixels>
HWY_INLINE void StoreFinished(Sums<W, kPixels>& sums, const RegisterFinish& finish, size_t pixel) {
  const typename W::D d;
  HWY_UNROLL(24)
  for (size_t v = 0; v < W::kVectors; ++v) {
    const size_t at = PlaceOf<W>(v, pixel, finish.plane);
    if (finish.addend) {
      HWY_UNROLL(24)
      for (size_t p = 0; p < kPixels; ++p) {
        sums[v][p] = hn::Add(sums[v][p], LoadChunks(d, finish.addend + at + p * 8, finish.plane));
      }
    }
    const auto slope =
        finish.slopes ? hn::LoadU(d, finish.slopes + v * W::kLanes) : hn::Set(d, finish.slope);
    Activate(d, finish.activation, slope, sums[v], kPixels);
    StorePixels(d, sums[v], finish.to + at, finish.plane);
  }
}

HWY_INLINE const hwy::float16_t* FirstWeight(const DirectWeights& weights, half_t) {
  return reinterpret_cast<const hwy::float16_t*>(weights.halves);
}
HWY_INLINE const float* FirstWeight(const DirectWeights& weights, float) {
  return weights.floats;
}

template <class D>
HWY_INLINE hn::Vec<D> LoadWeights(D d, const hwy::float16_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), from));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWeights(D d, const float* from) {
  return hn::LoadU(d, from);
}

// Adds the products of each pixel's value, which are kStep or `step` floats apart.
template <class W, size_t kStep, size_t kPixels>
HWY_INLINE void AddProduct(const float* values, size_t step,
                           const hn::Vec<typename W::D> (&weights)[W::kVectors],
                           Sums<W, kPixels>& sums) {
  HWY_UNROLL(24)
  for (size_t p = 0; p < kPixels; ++p) {
    const auto value = hn::Set(typename W::D(), values[p * (kStep ? kStep : step)]);
    HWY_UNROLL(24)
    for (size_t v = 0; v < W::kVectors; ++v) {
      sums[v][p] = hn::MulAdd(value, weights[v], sums[v][p]);
    }
  }
}

// Adds a block's sources times their weights. kStep: floats between two pixels' sources; 0: as
// `pixels` says. `pixel`: index of the block's first one.
template <class W, typename Weight, size_t kStep, size_t kPixels>
HWY_INLINE void AddProducts(const DirectPixels& pixels, size_t pixel, const DirectWeights& weights,
                            Sums<W, kPixels>& sums) {
  constexpr size_t kVectors = W::kVectors, kCacheLine = 64;
  constexpr int kForReading = 0, kSecondLevel = 2;  // the builtin's second and third argument
  const typename W::D d;
  const size_t step = kStep ? kStep : pixels.step;
  const auto* row = FirstWeight(weights, Weight());
  const auto load_weights = [&](hn::Vec<typename W::D>(&w)[kVectors]) {
    HWY_UNROLL(24)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t panel = v / kPanelVectors * weights.panel;
      w[v] = LoadWeights(d, row + panel + v % kPanelVectors * W::kLanes);
    }
    row += kPanelChannels;
  };
  FetchedAhead fetched = *weights.fetched;
  // Blocks of the largest size convert what comes next; there are few others. Without an
  // instruction for it, nothing would be gained.
  constexpr bool kQuick = HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64;
  using AllSizes = typename BlockSizes<W, kStep == 8>::Type;
  constexpr bool kConvertsWeights =
      kQuick && std::is_same<Weight, float>() && kPixels == LargestSize(AllSizes());
  constexpr bool kConverts = kConvertsWeights && kStep == 8;
  const bool converts = kConverts && pixels.converted->left >= kPixels;
  const size_t chunks = converts ? pixels.converted->chunks : 0;
  for (size_t t = 0; t < weights.tap_count; ++t) {
    const DirectTap tap = weights.taps[t];
    if (fetched.next < fetched.end) {
      __builtin_prefetch(fetched.next, kForReading, kSecondLevel);
      fetched.next += kCacheLine;
    }
    if constexpr (kConvertsWeights) {
      if (weights.converted->left >= kWeightsPart) ConvertWeights(weights.converted);
    }
    const float* from = pixels.from + pixel * step + tap.offset;
    hn::Vec<typename W::D> w[kVectors];
    if constexpr (kStep == 8 || kPlain) {
      if (tap.offsets) {
        // Such taps may be fewer than the chunks, and too short to convert a few pixels per
        // product.
        if constexpr (kConverts) {
          const size_t first = t * pixels.converted->tap_chunks;
          const size_t last = std::min(first + pixels.converted->tap_chunks, chunks);
          for (size_t chunk = first; chunk < last; ++chunk) {
            ConvertPixels<kPixels>(pixels.converted->from + pixels.converted->starts[chunk],
                                   pixels.converted->to + chunk * pixels.converted->plane);
          }
        }
        for (size_t i = 0; i < tap.values; ++i) {
          load_weights(w);
          AddProduct<W, kStep, kPixels>(from + tap.offsets[i], step, w, sums);
        }
        continue;
      }
    }
    const float* const end = from + tap.values;
    if constexpr (kConverts) {
      if (t < chunks) {
        constexpr size_t kAtOnce = (kPixels + 7) / 8;
        constexpr size_t kRest = kPixels % kAtOnce, kEven = kPixels - kRest;
        const half_t* const next = pixels.converted->from + pixels.converted->starts[t];
        float* const to = pixels.converted->to + t * pixels.converted->plane;
        for (size_t p = 0; p < kEven; p += kAtOnce, ++from) {
          ConvertPixels<kAtOnce>(next + p * 8, to + p * 8);
          load_weights(w);
          AddProduct<W, kStep, kPixels>(from, step, w, sums);
        }
        ConvertPixels<kRest>(next + kEven * 8, to + kEven * 8);
      }
    }
    for (; from < end; ++from) {
      load_weights(w);
      AddProduct<W, kStep, kPixels>(from, step, w, sums);
    }
  }
  weights.fetched->next = fetched.next;
  if (converts) MoveAhead(pixels.converted, kPixels);
}

// Computes one block of results. The kinds of sources and weights are chosen within it, because the
// code before and after the products is larger, and the same for all kinds.
template <class W, size_t kPixels>
HWY_INLINE void ConvolveBlock(const DirectPixels& pixels, size_t pixel,
                              const DirectWeights& weights) {
  if (pixels.converted->left > 0) {
    const float* const end = pixels.from + (pixel + kPixels) * 8;
    if (pixels.converted->to < end) ConvertUntil(end, pixels.converted);
  }
  Sums<W, kPixels> sums;
  HWY_UNROLL(24)
  for (size_t v = 0; v < W::kVectors; ++v) {
    const auto bias = hn::LoadU(typename W::D(), weights.bias + v * W::kLanes);
    HWY_UNROLL(24)
    for (size_t p = 0; p < kPixels; ++p) sums[v][p] = bias;
  }
  if constexpr (kPlain) {
    if (weights.floats) {
      AddProducts<W, float, 0, kPixels>(pixels, pixel, weights, sums);
    } else {
      AddProducts<W, half_t, 0, kPixels>(pixels, pixel, weights, sums);
    }
  } else if (weights.floats && pixels.step == 8) {
    AddProducts<W, float, 8, kPixels>(pixels, pixel, weights, sums);
  } else if (pixels.step == 8) {
    AddProducts<W, half_t, 8, kPixels>(pixels, pixel, weights, sums);
  } else if constexpr (HasSize(kPixels, typename BlockSizes<W, false>::Type())) {
    if (weights.floats && pixels.step == 6) {  // images of 3 channels
      AddProducts<W, float, 6, kPixels>(pixels, pixel, weights, sums);
    } else if (weights.floats) {
      AddProducts<W, float, 0, kPixels>(pixels, pixel, weights, sums);
    } else if (pixels.step == 16) {
      AddProducts<W, half_t, 16, kPixels>(pixels, pixel, weights, sums);
    } else {
      AddProducts<W, half_t, 0, kPixels>(pixels, pixel, weights, sums);
    }
  }
  if (pixels.finish) return StoreFinished<W, kPixels>(sums, *pixels.finish, pixel);
  StoreFloats<W, kPixels>(sums, pixels, pixel);
}

// Computes `blocks` blocks of kPixels, from `pixel` on.
template <class W, size_t kPixels>
void ConvolveBlocks(const DirectPixels& pixels, size_t pixel, size_t blocks,
                    const DirectWeights& weights) {
  for (size_t i = 0; i < blocks; ++i) {
    ConvolveBlock<W, kPixels>(pixels, pixel + i * kPixels, weights);
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

template <class W, size_t... kPixels>
HWY_INLINE void ConvolveBySize(const DirectPixels& pixels, size_t pixel, size_t blocks, size_t size,
                               const DirectWeights& weights, Sizes<kPixels...>) {
  (void)((size == kPixels && (ConvolveBlocks<W, kPixels>(pixels, pixel, blocks, weights), true)) ||
         ...);
}

template <class W, class Choice>
HWY_INLINE void ConvolveChosen(const DirectPixels& pixels, const DirectWeights& weights, Choice) {
  static constexpr Blocks<W::kVectors, Choice> kBlocks;
  constexpr typename BlockSizes<W, true>::Type all;
  for (size_t done = 0; done < pixels.count;) {
    const size_t size = kBlocks.First(pixels.count - done);
    size_t end = done + size;
    while (end < pixels.count && kBlocks.First(pixels.count - end) == size) end += size;
    ConvolveBySize<W>(pixels, done, (end - done) / size, size, weights, all);
    done = end;
  }
}

// Convolves the first W::kChunks chunks. Returns their number.
template <class W>
size_t ConvolveWidth(const DirectPixels& pixels, const DirectWeights& weights) {
  constexpr typename BlockSizes<W, true>::Type frequent;
  constexpr typename BlockSizes<W, false>::Type others;
  static_assert(AreAmong(others, frequent), "a size without a function would compute nothing");
  if (pixels.step == 8) {
    ConvolveChosen<W>(pixels, weights, frequent);
  } else {
    ConvolveChosen<W>(pixels, weights, others);
  }
  return W::kChunks;
}

bool RegistersAreFew() {
  return HWY_TARGET > HWY_AVX3;
}

size_t ConvolveSome(const DirectPixels& pixels, const DirectWeights& weights) {
#if HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64
  if (weights.chunks == PanelAndChunk::kChunks) {
    return ConvolveWidth<PanelAndChunk>(pixels, weights);
  }
#endif
  if (weights.chunks >= Widest::kChunks) return ConvolveWidth<Widest>(pixels, weights);
  if (weights.chunks >= Panel::kChunks) return ConvolveWidth<Panel>(pixels, weights);
  return ConvolveWidth<Chunk>(pixels, weights);
}

void ConvolvePixels(const DirectPixels& pixels, const DirectWeights& weights) {
  DirectPixels to = pixels;
  DirectWeights by = weights;
  RegisterFinish finish = {};
  if (pixels.finish) {
    finish = *pixels.finish;
    to.finish = &finish;
  }
  for (;;) {
    const size_t made = ConvolveSome(to, by);
    if (made == by.chunks) return;
    by.chunks -= made;
    const size_t panels = made / Panel::kChunks;
    if (by.halves) by.halves += panels * weights.panel;
    if (by.floats) by.floats += panels * weights.panel;
    by.bias += panels * kPanelChannels;
    to.floats += made * pixels.plane;
    if (!pixels.finish) continue;
    finish.to += made * finish.plane;
    if (finish.addend) finish.addend += made * finish.plane;
    if (finish.slopes) finish.slopes += panels * kPanelChannels;
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
