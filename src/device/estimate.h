// SPDX-License-Identifier: Apache-2.0
// Estimates how long the FPGA would take for a command.
//
// The convolution block works through the packed weights block by block: a block is 12 x 6 values
// of one kernel (dv-user-driver, weight packing), and the register that the kernel driver shows as
// `mac_num` counts units of 72 multipliers. So the model lets each unit take one block of one
// kernel per clock and output pixel:
//
//     clocks = pixels * ceil(m / units) * blocks per kernel
//
// where a block holds 64 input channels of a 1x1 kernel, 8 of 3x3, 2 of 5x5, 1 of 7x7 (even and
// non-square kernels count as the next odd square), and a dilated convolution is one 1x1 pass per
// tap. Commands without a convolution pass 8 values per clock. Meanwhile the bus moves inputs (with
// the columns that neighbouring tiles share), the weights once per tile, addends and outputs; the
// slower of the two counts. The counters of the kernel driver are in units of 16 bytes, hence a bus
// of 16 bytes per clock unless told otherwise.
//
// Error: no timing of a board is published that this could be held against. It is a lower bound:
// start-up, memory latency and refresh, and idle units at tile edges are not in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "device/command.h"
#include "device/limits.h"

namespace dvnn::device {

/// What commands are told apart by when the model is corrected. A command is of the first that
/// fits.
enum class CommandKind : uint8_t { kTransposed, kDepthwise, kConvolution, kPooling };
constexpr int kCommandKinds = 4;
const char* to_string(CommandKind kind);  // "depthwise"
CommandKind kind_of(const ConvCommand& command);

constexpr int kUnitMacs = 72;  // multipliers of a unit, values of a block of weights

/// A board, as far as the model knows it.
struct Hardware {
  double clock_mhz = 100;  // of the convolution block; boards run it at 50..333
  int macs = 576;          // multipliers, a multiple of 72: the driver's mac_num
  double bus_bytes = 16;   // per clock, all transfers together
  int ub_bytes = kUnifiedBufferBytes;
  double command_us = 0;  // added to each command
  // Of the processor beside the FPGA: millions of elements, taps and products a second that CPU
  // layers do. A guess for one core of a Cortex-A53 at 1.2 GHz, which nobody has measured.
  double cpu_mops = 1000;
  // Of the model's time of a command, by its kind; measured on a board
  // (tools/board/board_report.h).
  std::array<double, kCommandKinds> factors = {1, 1, 1, 1};
};

struct Estimate {
  double clocks = 0;     // of computing
  double bus_bytes = 0;  // moved over the memory bus
  int tiles = 1;         // the most of any run
  double microseconds = 0;
  bool waits_for_memory = false;  // moving takes longer than computing
};

/// Reads "clock=200,macs=576,bus=16,ub=655360,command=0,cpu=1000", or any part of it: MHz,
/// multipliers, bytes per clock, bytes, microseconds, million operations a second. Parts that are
/// not named keep their defaults. Errors name the part.
Result<Hardware> parse_hardware(const std::string& text);

Estimate estimate(const ConvCommand& command, const Hardware& hardware);

}  // namespace dvnn::device
