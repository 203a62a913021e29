// SPDX-License-Identifier: Apache-2.0
// The layers that generated networks run on the CPU.
#pragma once

#include "base/result.h"
#include "dmp_network.h"

namespace dvnn::generated {

/// Returns the number of elements of `dims`, or -1 if a dimension is not positive or it exceeds
/// 2^28.
inline int64_t elements_of(const int (&dims)[3], int count) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (count < 1 || count > 3) return -1;
  int64_t elements = 1;
  for (int i = 0; i < count; ++i) {
    if (dims[i] < 1 || dims[i] > kMost || (elements *= dims[i]) > kMost) return -1;
  }
  return elements;
}

/// Checks everything that run_cpu_layer() relies on. The layer's offsets are into an I/O buffer of
/// `io_size` bytes.
Status check_cpu_layer(const fpga_layer& layer, size_t io_size);

/// Runs a layer on the CPU. Returns an error if a custom layer throws or its result has the wrong
/// size.
Status run_cpu_layer(fpga_layer* layer, uint8_t* io);

}  // namespace dvnn::generated
