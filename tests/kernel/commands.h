// SPDX-License-Identifier: Apache-2.0
// Commands as the kernel is sent them, turned into those of the device's interface, which the
// software device runs. The rules that only the kernel module has are checked here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dmp_dv_cmdraw_v1.h"
#include "kernel/uapi.h"

namespace dvnn::kernel {

/// Returns the memory of a dma-buf's file descriptor, or null, and notes that it is used.
using FindMemory = std::function<dmp_dv_mem(int fd)>;

/// Translates the command at `head` of device 0 (conv), 1 (ipu) or 2 (maximizer) to one
/// that begins with a dmp_dv_cmdraw. Returns 0 or an errno value.
int translate(int device, const CommandHead* head, const FindMemory& find,
              std::vector<uint8_t>* to);

}  // namespace dvnn::kernel
