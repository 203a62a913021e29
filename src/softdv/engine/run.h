// SPDX-License-Identifier: Apache-2.0
// The engine's input: what the device is asked to compute, and the sizes on the way.
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
  bool fully_connected = false;  // weights are in pack_fc_weights()'s order
};

}  // namespace dvnn::softdv
