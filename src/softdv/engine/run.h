// SPDX-License-Identifier: Apache-2.0
// A run as the engine takes it: what the device is asked to compute, and the sizes on its way.
#pragma once

#include "device/command.h"
#include "tensor/packing.h"

namespace dvnn::softdv {

struct Run {
  device::ConvRun run;
  bool absolute = false;  // rectifi_en
  uint16_t lrn = 0;
  PackedGeometry geometry;
  device::Dims in, conv, out;    // input, after convolution, after pooling
  bool fully_connected = false;  // weights lie as pack_fc_weights() leaves them
};

}  // namespace dvnn::softdv
