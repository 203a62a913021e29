// SPDX-License-Identifier: Apache-2.0
// The device's limits, and whether a command fits them. The driver refuses what does not fit, so
// the converter asks here first. Sources: the limits of the dv-sdk converter for the DV700; the
// driver's tile and buffer arithmetic (dv-user-driver, command checks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/command.h"

namespace dvnn::device {

/// The unified buffer of the boards that are sold, bytes.
constexpr int kUnifiedBufferBytes = 655360;

// Limits of the hardware.
constexpr int kMaxWidth = 2047, kMaxHeight = 1024;  // pixels of an input or output
constexpr int kMaxChannels = 32768;                 // of an input or output
constexpr int kMaxKernel = 7;                       // pixels, each way
constexpr int kMaxMaximumWindow = 3;                // of a maximum pooling
constexpr int kMaxAverageWindow = 7;                // of an average pooling

/// What a board can do: the table that a plan is given. The defaults are those of the boards that
/// are sold.
struct Limits {
  int width = kMaxWidth, height = kMaxHeight, channels = kMaxChannels;
  int kernel = kMaxKernel;
  int maximum_window = kMaxMaximumWindow, average_window = kMaxAverageWindow;  // of poolings
  int unified_buffer_bytes = kUnifiedBufferBytes;
};

// Limits of a command's fields.
constexpr int kMaxExtent = 65535;    // pixels
constexpr int kMaxStride = 255;      // also dilations and pooling windows
constexpr int kMaxPadLeftTop = 127;  // 7 bits
constexpr int kMaxPadRightBottom = 255;

/// Returns which of the device's conditions a dilated run breaks: odd kernels, an output of the
/// input's size over the stride, no pooling, no PReLU. Null if it breaks none, or is not dilated.
const char* dilation_problem(const ConvRun& run, Dims in);

/// Returns into how many tiles the device splits the width of a run's w x h x c input: 1 or more,
/// or 0 if not even single columns fit. `lrn` marks a run of local response normalisation. A
/// depthwise convolution is not limited: 1.
int count_tiles(const ConvRun& run, Dims in, bool lrn, int unified_buffer_bytes);

/// Returns the limit that a run over a w x h x c input exceeds, as text: input or output size,
/// kernel, dilation, unified buffer. Empty if it exceeds none. Pooling windows are not checked,
/// because larger poolings are split by other rules.
std::string misfit(const ConvRun& run, Dims in, const Limits& limits);

/// Returns whether a run computes each pixel of its result from the same pixel of its input alone,
/// so that the order of pixels does not matter to it.
bool works_by_pixel(const ConvRun& run);

/// Returns another width and height for the input, with the same number of pixels, in which the run
/// exceeds no limit; a run that works by pixel computes the same. w = 0 if there is none.
Dims fold_pixels(const ConvRun& run, Dims in, const Limits& limits);

/// Returns the bytes of unified buffer that a command of several runs needs.
int64_t unified_buffer_use(const std::vector<ConvRun>& runs, uint32_t topo, Dims in);

}  // namespace dvnn::device
