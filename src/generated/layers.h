// SPDX-License-Identifier: Apache-2.0
// What generated networks run on the CPU.
#pragma once

#include "base/result.h"
#include "dmp_network.h"

namespace dvnn::generated {

/// Elements of `dims`, or -1 where a dimension is not positive or the product exceeds 2^28.
inline int64_t elements_of(const int (&dims)[3], int count) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (count < 1 || count > 3) return -1;
  int64_t elements = 1;
  for (int i = 0; i < count; ++i) {
    if (dims[i] < 1 || dims[i] > kMost || (elements *= dims[i]) > kMost) return -1;
  }
  return elements;
}

/// Checks what run_cpu_layer() relies on; `io_size` bytes lie behind the offsets.
Status check_cpu_layer(const fpga_layer& layer, size_t io_size);

/// Runs a layer that is not the device's. An exception of a custom layer, or a result that does not
/// fit, is an error.
Status run_cpu_layer(fpga_layer* layer, uint8_t* io);

}  // namespace dvnn::generated
