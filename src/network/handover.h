// SPDX-License-Identifier: Apache-2.0
// Decides which bytes of a slot's I/O buffer are handed over between CPU and device, and when.
//
// The CPU's caches need not be coherent with the device. Three things must not happen: that the
// device reads memory whose newest bytes are still in a cache, that a cache writes its old bytes
// back over what the device has written, and that the CPU reads what it cached before the device
// wrote. Each hand-over costs time that grows with its bytes (a small ARM core cleans about a byte
// per cycle), so what goes from CPU layer to CPU layer is not handed over.
#pragma once

#include <cstdint>
#include <vector>

#include "base/span.h"
#include "network/network.h"

namespace dvnn::network {

/// Bytes of the I/O buffer. What the CPU touches begins and ends at a cache line
/// (plan::kCpuAlignment).
struct ByteRange {
  uint64_t offset = 0, bytes = 0;
  uint64_t end() const { return offset + bytes; }
  bool meets(const ByteRange& o) const { return offset < o.end() && o.offset < end(); }
};

/// One command or one CPU layer: what it reads, and after that, what it writes.
struct MemoryUse {
  bool by_device = false;
  std::vector<ByteRange> reads, writes;
};

/// What changes hands before a stage, as ranges that neither overlap nor touch, in order.
struct Handover {
  std::vector<ByteRange> to_device, to_cpu;
  uint64_t crossing = 0;  // bytes of these that are read next; the others are overwritten
};

/// The stages of a run in their order; each is one CPU layer, or commands in a row.
using StageUses = std::vector<std::vector<MemoryUse>>;

struct HandoverPlan {
  /// The device is the first to read or write the input: the caller hands it over, or the part that
  /// it wrote where the device alone reads it.
  bool begins_with_input = false;
  std::vector<Handover> before;  // each stage, and as the last element after all of them
};

/// Plans runs that repeat. Before each of them the CPU writes `input`, and `extras`, which need not
/// be handed over; after it the CPU reads `outputs`. At first nothing is in a cache.
HandoverPlan plan_handovers(const StageUses& stages, ByteRange input, Span<const ByteRange> outputs,
                            Span<const ByteRange> extras = {});

/// Counts what a run of such a plan hands over, including the whole input; `by_layers` is not set.
HandoverCount count_handovers(const HandoverPlan& plan, ByteRange input);

}  // namespace dvnn::network
