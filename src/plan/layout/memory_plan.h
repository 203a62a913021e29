// SPDX-License-Identifier: Apache-2.0
// Assigns offsets to buffers whose lifetimes are known: buffers that live at the same time do not
// overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::plan {

constexpr uint64_t kDeviceAlignment = 16;  // required by the driver
constexpr uint64_t kCpuAlignment = 64;     // a cache line, which CPU and device must not share

struct PlannedBuffer {
  uint64_t size = 0;                      // bytes
  int birth = 0, death = 0;               // first and last step that touches it, inclusive
  uint64_t alignment = kDeviceAlignment;  // of its beginning and its end
  uint64_t offset = 0;                    // result
};

/// Assigns offsets and returns the bytes needed. Each buffer goes to the lowest free place, in
/// several orders (size, death, area, and the dv-sdk converter's). The best result is then improved
/// by exchanging buffers, with a fixed effort, so that the result does not depend on the machine.
uint64_t plan_memory(std::vector<PlannedBuffer>* buffers);

/// Returns a lower bound of any plan: the peak of live bytes.
uint64_t least_memory(const std::vector<PlannedBuffer>& buffers);

}  // namespace dvnn::plan
