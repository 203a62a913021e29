// SPDX-License-Identifier: Apache-2.0
// Array conversions, compiled once per instruction set by Highway and chosen at run time.
#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/convert_half.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Without an instruction for the conversion, Highway emulates it, but does not round ties to even.
// Those targets use the scalar code.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define DVNN_VECTOR_HALF 1
#else
#define DVNN_VECTOR_HALF 0
#endif

void FromFloat(const float* HWY_RESTRICT from, half_t* HWY_RESTRICT to, size_t count) {
  size_t i = 0;
#if DVNN_VECTOR_HALF
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (; i + hn::Lanes(df) <= count; i += hn::Lanes(df)) {
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i)), dh,
               reinterpret_cast<hwy::float16_t*>(to + i));
  }
  if (i < count && count >= hn::Lanes(df)) {  // a last vector that overlaps the one before
    i = count - hn::Lanes(df);
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i)), dh,
               reinterpret_cast<hwy::float16_t*>(to + i));
    return;
  }
#endif
  for (; i < count; ++i) to[i] = float_to_half(from[i]);
}

void ToFloat(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count) {
  size_t i = 0;
#if DVNN_VECTOR_HALF
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  for (; i + hn::Lanes(df) <= count; i += hn::Lanes(df)) {
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i))),
               df, to + i);
  }
  if (i < count && count >= hn::Lanes(df)) {
    i = count - hn::Lanes(df);
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i))),
               df, to + i);
    return;
  }
#endif
  for (; i < count; ++i) to[i] = half_to_float(from[i]);
}

#if DVNN_VECTOR_HALF
// Floats of a chunk, or of a half of one.
using ChunkTag = hn::CappedTag<float, kHalfChunk>;
using HalfChunkTag = hn::Rebind<hwy::float16_t, ChunkTag>;

HWY_INLINE hn::Vec<ChunkTag> LoadHalves(const half_t* from) {
  const auto* const halves = reinterpret_cast<const hwy::float16_t*>(from);
  return hn::PromoteTo(ChunkTag(), hn::LoadU(HalfChunkTag(), halves));
}

// Transposes eight chunks.
HWY_INLINE void TurnChunks(const half_t* from, float* to, size_t stride) {
  const hn::FixedTag<uint16_t, 8> d;
  hn::Vec<decltype(d)> a[8], b[8];
  for (size_t i = 0; i < 8; ++i) a[i] = hn::LoadU(d, from + i * kHalfChunk);
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < 4; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 4]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 4]);
    }
    for (size_t i = 0; i < 8; ++i) a[i] = b[i];
  }
  HWY_ALIGN half_t row[kHalfChunk];
  for (size_t k = 0; k < kHalfChunk; ++k) {
    hn::Store(a[k], d, row);
    for (size_t i = 0; i < kHalfChunk; i += hn::Lanes(ChunkTag())) {
      hn::StoreU(LoadHalves(row + i), ChunkTag(), to + k * stride + i);
    }
  }
}
#endif

void ChunksToFloat(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t stride,
                   size_t count) {
  for (size_t i = 0; i < count; ++i, from += kHalfChunk, to += stride) {
#if DVNN_VECTOR_HALF
    for (size_t k = 0; k < kHalfChunk; k += hn::Lanes(ChunkTag())) {
      hn::StoreU(LoadHalves(from + k), ChunkTag(), to + k);
    }
#else
    for (size_t k = 0; k < kHalfChunk; ++k) to[k] = half_to_float(from[k]);
#endif
  }
}

// The last eight chunks begin earlier where they would end beyond the last one.
void ChunksToColumns(const half_t* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t stride,
                     size_t count) {
  size_t i = 0;
#if DVNN_VECTOR_HALF
  for (; i + 8 <= count; i += 8) TurnChunks(from + i * kHalfChunk, to + i, stride);
  if (i < count && count >= 8) {
    TurnChunks(from + (count - 8) * kHalfChunk, to + count - 8, stride);
    return;
  }
#endif
  for (; i < count; ++i) {
    for (size_t k = 0; k < kHalfChunk; ++k) {
      to[k * stride + i] = half_to_float(from[i * kHalfChunk + k]);
    }
  }
}

void FloatToChunks(const float* HWY_RESTRICT from, size_t stride, const float* HWY_RESTRICT factors,
                   half_t* HWY_RESTRICT to, size_t count) {
  for (size_t i = 0; i < count; ++i, from += stride, to += kHalfChunk) {
#if DVNN_VECTOR_HALF
    const ChunkTag d;
    const auto factor = hn::Set(d, factors[i]);
    for (size_t k = 0; k < kHalfChunk; k += hn::Lanes(d)) {
      const auto scaled = hn::Mul(hn::LoadU(d, from + k), factor);
      hn::StoreU(hn::DemoteTo(HalfChunkTag(), scaled), HalfChunkTag(),
                 reinterpret_cast<hwy::float16_t*>(to + k));
    }
#else
    for (size_t k = 0; k < kHalfChunk; ++k) to[k] = float_to_half(from[k] * factors[i]);
#endif
  }
}

#undef DVNN_VECTOR_HALF
}  // namespace dvnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn {

HWY_EXPORT(FromFloat);
HWY_EXPORT(ToFloat);
HWY_EXPORT(ChunksToFloat);
HWY_EXPORT(ChunksToColumns);
HWY_EXPORT(FloatToChunks);

void float_to_half(const float* from, half_t* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(FromFloat)(from, to, count);
}

void half_to_float(const half_t* from, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(ToFloat)(from, to, count);
}

void chunks_to_float(const half_t* from, float* to, size_t stride, size_t count) {
  HWY_DYNAMIC_DISPATCH(ChunksToFloat)(from, to, stride, count);
}

void chunks_to_columns(const half_t* from, float* to, size_t stride, size_t count) {
  HWY_DYNAMIC_DISPATCH(ChunksToColumns)(from, to, stride, count);
}

void float_to_chunks(const float* from, size_t stride, const float* factors, half_t* to,
                     size_t count) {
  HWY_DYNAMIC_DISPATCH(FloatToChunks)(from, stride, factors, to, count);
}

}  // namespace dvnn
#endif  // HWY_ONCE
