// SPDX-License-Identifier: Apache-2.0
#include "convert/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace dvnn::convert {

uint64_t plan_memory(std::vector<PlannedBuffer>* buffers) {
  auto aligned = [](uint64_t n) {
    return (n + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  };
  std::vector<size_t> order(buffers->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*buffers)[a].size > (*buffers)[b].size; });
  std::vector<const PlannedBuffer*> placed;  // in the order of their offsets
  uint64_t total = 0;
  for (size_t i : order) {
    PlannedBuffer& buffer = (*buffers)[i];
    uint64_t at = 0;
    for (const PlannedBuffer* other : placed) {
      const bool together = other->birth <= buffer.death && buffer.birth <= other->death;
      if (!together) continue;
      if (other->offset >= at + buffer.size) break;  // the gap before it is large enough
      at = std::max(at, aligned(other->offset + other->size));
    }
    buffer.offset = at;
    total = std::max(total, at + buffer.size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer,
                                   [](const PlannedBuffer* a, const PlannedBuffer* b) {
                                     return a->offset < b->offset;
                                   }),
                  &buffer);
  }
  return aligned(total);
}

}  // namespace dvnn::convert
