// SPDX-License-Identifier: Apache-2.0
#include "kernels/movement/movement.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/movement/channels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void GatherChunk(const ChunkSources& from, size_t pixels, uint16_t* to) {
  plain::gather_chunk(from, pixels, to);
}

#else

// A pixel of a chunk is a vector of 16 bytes; one shuffle takes its wanted channels, and leaves
// zeros for the channels of other chunks.
void GatherChunk(const ChunkSources& from, size_t pixels, uint16_t* HWY_RESTRICT to) {
  const hn::FixedTag<uint8_t, 16> bytes;
  HWY_ALIGN uint8_t controls[kMostChunks][16];
  for (size_t c = 0; c < from.count; ++c) {
    for (size_t i = 0; i < 8; ++i) {
      constexpr uint8_t kZero = 0x80;
      const bool taken = from.chunk[i] == c;
      const auto first = static_cast<uint8_t>(2 * from.lane[i]);
      controls[c][2 * i] = taken ? first : kZero;
      controls[c][2 * i + 1] = taken ? static_cast<uint8_t>(first + 1) : kZero;
    }
  }
  for (size_t p = 0; p < pixels; ++p) {
    auto pixel = hn::Zero(bytes);
    for (size_t c = 0; c < from.count; ++c) {
      const auto* chunk = reinterpret_cast<const uint8_t*>(from.chunks[c] + 8 * p);
      pixel = hn::Or(
          pixel, hn::TableLookupBytesOr0(hn::LoadU(bytes, chunk), hn::Load(bytes, controls[c])));
    }
    hn::StoreU(pixel, bytes, reinterpret_cast<uint8_t*>(to + 8 * p));
  }
}

#endif

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(GatherChunk);

void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(GatherChunk)(from, pixels, to);
}

namespace plain {

void gather_chunk(const ChunkSources& from, size_t pixels, uint16_t* to) {
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t i = 0; i < 8; ++i) to[8 * p + i] = from.chunks[from.chunk[i]][8 * p + from.lane[i]];
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
