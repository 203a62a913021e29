// SPDX-License-Identifier: Apache-2.0
// The driver's checks of every command, whatever its type.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/span.h"
#include "softdv/emulator/objects.h"

namespace dvnn::softdv {

/// Bytes [offset, offset + size) of a memory, checked against its size.
struct Bytes {
  dmp_dv_mem mem = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint8_t* data() const { return mem->data + offset; }
  /// Returns where a list that runs on a lane finds the bytes.
  uint8_t* data(size_t lane) const {
    return (mem->lanes.empty() ? mem->data : mem->lanes[lane]) + offset;
  }
  Span<const uint8_t> span() const { return {data(), static_cast<size_t>(size)}; }
};

/// Returns whether two ranges share a byte.
inline bool overlap(const Bytes& a, const Bytes& b) {
  return a.mem == b.mem && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

/// An accepted command: the plan that runs it, and the memories that it keeps alive.
struct Accepted {
  std::unique_ptr<Plan> plan;
  std::vector<dmp_dv_mem> memories;
};

/// Sets the error "Invalid argument: what (value)"; returns -1.
int refuse(const char* what, int64_t value);

/// Checks that the buffer's offset is a multiple of `align` and that `size` bytes follow it.
/// Returns 0, or sets the error and returns -1 (size 0) or EINVAL.
int check_buffer(const dmp_dv_buf& buf, uint64_t size, uint64_t align, const char* name,
                 Bytes* out);

/// The kernel driver's rule at commit: offsets of weights, tables and of the other blocks' buffers
/// are multiples of 16 bytes. An absent buffer passes. False: the error is set.
bool aligned(const Bytes& bytes, const char* name);

/// One function per block of the device. It checks a command whose header is valid and makes its
/// plan. It returns 0, or the driver's error code with the message set.
int accept_conv(const dmp_dv_cmdraw* raw, Accepted* accepted);  // versions 0 and 1
int accept_fc(const dmp_dv_cmdraw* raw, Accepted* accepted);
int accept_ipu(const dmp_dv_cmdraw* raw, Accepted* accepted);
int accept_maximizer(const dmp_dv_cmdraw* raw, Accepted* accepted);

}  // namespace dvnn::softdv
