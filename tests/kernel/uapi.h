// SPDX-License-Identifier: Apache-2.0
// What a user driver and the kernel exchange: ioctls and their arguments, of the memory allocator
// (ION as in Linux 4.12..5.10) and of the DV driver. Commands are those of dmp_dv_cmdraw_v0.h, but
// each memory is named by a Buffer, which is as large as a dmp_dv_buf, and their head is a
// CommandHead. Sizes are equal on 32 and 64 bits.
#pragma once

#include <linux/dma-buf.h>
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

#include "dmp_dv_cmdraw_v1.h"

namespace dvnn::kernel {

// --- /dev/ion ---
struct Allocation {
  uint64_t bytes;
  uint32_t heap_mask;  // 1 << id of each heap that may give it
  uint32_t flags;      // 1: cached
  uint32_t fd;         // result
  uint32_t unused;
};
struct Heap {
  char name[32];
  uint32_t type;  // 4: contiguous memory for devices
  uint32_t id;
  uint32_t reserved[3];
};
struct HeapQuery {
  uint32_t count;  // of `heaps`; result if that is 0
  uint32_t reserved0;
  uint64_t heaps;  // address of Heaps, or 0
  uint32_t reserved[2];
};
constexpr uint32_t kContiguous = 4;
constexpr unsigned long kAllocate = _IOWR('I', 0, Allocation);
constexpr unsigned long kQueryHeaps = _IOWR('I', 8, HeapQuery);

// --- /dev/dv_conv, dv_ipu, dv_maximizer ---
struct Buffer {
  int32_t fd;  // of a dma-buf; negative: none
  uint32_t rsvd;
  uint64_t offset;  // bytes
};
struct CommandHead {
  uint32_t size;  // bytes of the command
  uint32_t version;
};
struct Append {
  uint32_t count;  // of commands
  uint32_t rsvd;
  uint64_t commands;  // address
};
struct Wait {
  uint64_t id;
  int64_t microseconds;  // result: since its start
};
constexpr unsigned long kAppend = _IOW(0x82, 1, Append);
constexpr unsigned long kRun = _IOR(0x82, 2, uint64_t);
constexpr unsigned long kWait = _IOW(0x82, 3, Wait);

static_assert(sizeof(Allocation) == 24 && sizeof(Heap) == 52 && sizeof(HeapQuery) == 24, "ION");
static_assert(sizeof(Buffer) == sizeof(dmp_dv_buf) && sizeof(CommandHead) == sizeof(dmp_dv_cmdraw),
              "commands keep their layout");
static_assert(kAppend == 0x40108201 && kRun == 0x80088202 && kWait == 0x40108203, "ioctls");

/// Bytes of a convolution command whose last run is `runs` - 1: the others are not sent.
constexpr uint32_t conv_bytes(int runs) {
  return static_cast<uint32_t>(sizeof(dmp_dv_cmdraw_conv_v0) -
                               static_cast<size_t>(32 - runs) * sizeof(dmp_dv_cmdraw_conv_v0_run));
}
constexpr uint32_t kConvV1Extra = 24;  // bytes that version 1 has before its input
constexpr uint32_t kIpuBytes = 232;    // the user's command, and 8 bytes at kIpuScale
constexpr size_t kIpuScale = 68;

}  // namespace dvnn::kernel
