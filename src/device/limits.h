// SPDX-License-Identifier: Apache-2.0
// What fits the device's unified buffer: the driver refuses what does not, so the converter asks
// first. Source: the driver's tile and buffer arithmetic (dv-user-driver, command checks).
#pragma once

#include <cstdint>
#include <vector>

#include "device/command.h"

namespace dvnn::device {

/// The unified buffer of the boards that are sold, bytes.
constexpr int kUnifiedBufferBytes = 655360;

/// What a dilated run lacks of what the device asks of it (odd kernels, an output of the input's
/// size over the stride, no pooling, no PReLU), or null. Undilated runs lack nothing.
const char* dilation_problem(const ConvRun& run, Dims in);

/// Into how many tiles the device splits the width of a run's w x h x c input: 1 or more, or 0 if
/// not even single columns fit. `lrn` marks a run of local response normalisation. A depthwise
/// convolution is not limited: 1.
int count_tiles(const ConvRun& run, Dims in, bool lrn, int unified_buffer_bytes);

/// Bytes of unified buffer that a command of several runs needs.
int64_t unified_buffer_use(const std::vector<ConvRun>& runs, uint32_t topo, Dims in);

}  // namespace dvnn::device
