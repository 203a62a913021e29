// SPDX-License-Identifier: Apache-2.0
// Buffers as NNStreamer 2.4's elements write them, by its documentation and public headers
// (docs/nnstreamer.md) and not by our code: what both sides had wrong would not show.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace dvnn::test {

using Bytes = std::vector<uint8_t>;

/// The numbers of element types in a header.
enum : uint32_t { kTypeInt32 = 0, kTypeUint8 = 5, kTypeFloat32 = 7, kTypeFloat16 = 10 };

inline void append(Bytes* to, const Bytes& more) {
  to->insert(to->end(), more.begin(), more.end());
}

/// The 128 bytes before a tensor of a flexible stream: 32-bit numbers, of which the first 21 are
/// magic, version, type, 16 dimensions, format (1: flexible) and media type (4: tensor).
inline std::vector<uint32_t> flexible_header(uint32_t type, std::vector<uint32_t> dimensions) {
  std::vector<uint32_t> header(32, 0);
  header[0] = 0xfeedcced;
  header[1] = 0xde001000;
  header[2] = type;
  std::copy(dimensions.begin(), dimensions.end(), header.begin() + 3);
  header[19] = 1;
  header[20] = 4;
  return header;
}

inline Bytes bytes_of_header(const std::vector<uint32_t>& header) {
  Bytes bytes(header.size() * 4);
  std::memcpy(bytes.data(), header.data(), bytes.size());
  return bytes;
}

inline Bytes flexible(uint32_t type, const std::vector<uint32_t>& dimensions, const Bytes& data) {
  Bytes bytes = bytes_of_header(flexible_header(type, dimensions));
  append(&bytes, data);
  return bytes;
}

/// A buffer of these memories.
inline GstBuffer* buffer_of(const std::vector<Bytes>& memories) {
  GstBuffer* buffer = gst_buffer_new();
  for (const Bytes& bytes : memories) {
    GstMemory* memory = gst_allocator_alloc(nullptr, bytes.size(), nullptr);
    GstMapInfo map;
    gst_memory_map(memory, &map, GST_MAP_WRITE);
    std::memcpy(map.data, bytes.data(), bytes.size());
    gst_memory_unmap(memory, &map);
    gst_buffer_append_memory(buffer, memory);
  }
  return buffer;
}

/// What the 16th memory of more than 16 tensors begins with, on a 64-bit machine: magic, version,
/// how many there are beyond 16, padding, bytes of the 16th (64 bits), then for 240 tensors a
/// pointer, the type, 16 dimensions and padding. `types` and `dimensions` are of those beyond 16.
inline Bytes extra_header(uint64_t first_bytes, const std::vector<uint32_t>& types,
                          const std::vector<std::vector<uint32_t>>& dimensions) {
  constexpr size_t kInfo = 80, kInfos = 240, kFixed = 24;
  Bytes bytes(kFixed + kInfo * kInfos, 0);
  auto put = [&](size_t at, uint32_t value) { std::memcpy(&bytes[at], &value, sizeof value); };
  put(0, 0xf00dc0de);
  put(8, static_cast<uint32_t>(types.size()));
  std::memcpy(&bytes[16], &first_bytes, sizeof first_bytes);
  for (size_t i = 0; i < kInfos; ++i) {
    const size_t at = kFixed + i * kInfo + 8;
    put(at, i < types.size() ? types[i] : 11);
    for (size_t d = 0; i < dimensions.size() && d < dimensions[i].size(); ++d) {
      put(at + 4 + 4 * d, dimensions[i][d]);
    }
  }
  return bytes;
}

}  // namespace dvnn::test
