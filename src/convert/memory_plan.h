// SPDX-License-Identifier: Apache-2.0
// Offsets for buffers whose lifetimes are known: buffers that live at the same time do not overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::convert {

struct PlannedBuffer {
  uint64_t size = 0;         // bytes
  int birth = 0, death = 0;  // first and last step that touches it, inclusive
  uint64_t offset = 0;       // result, a multiple of kBufferAlignment
};

constexpr uint64_t kBufferAlignment = 64;  // a cache line; the driver asks for 16

/// Assigns offsets, largest buffer first, each at the lowest free place. Returns the bytes needed.
uint64_t plan_memory(std::vector<PlannedBuffer>* buffers);

}  // namespace dvnn::convert
