// SPDX-License-Identifier: Apache-2.0
// Offsets for buffers whose lifetimes are known: buffers that live at the same time do not overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::plan {

constexpr uint64_t kDeviceAlignment = 16;  // what the driver asks for
constexpr uint64_t kCpuAlignment = 64;     // a cache line, which CPU and device must not share

struct PlannedBuffer {
  uint64_t size = 0;                      // bytes
  int birth = 0, death = 0;               // first and last step that touches it, inclusive
  uint64_t alignment = kDeviceAlignment;  // of its beginning and its end
  uint64_t offset = 0;                    // result
};

/// Assigns offsets. Each buffer goes to the lowest free place, in several orders (size, death,
/// area, and the dv-sdk converter's) of which the best is taken and improved for a while by
/// exchanging buffers: the result does not depend on the machine. Returns the bytes needed.
uint64_t plan_memory(std::vector<PlannedBuffer>* buffers);

/// What no plan can do with less: the most that lives at one time.
uint64_t least_memory(const std::vector<PlannedBuffer>& buffers);

}  // namespace dvnn::plan
