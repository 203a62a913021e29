// SPDX-License-Identifier: Apache-2.0
// The files of an emulated board: what it has in /dev and /sys, and its free contiguous memory.
// The environment changes it:
//   DVNN_KERNEL_SYSTEM     "CONV": only /dev/dv_conv is there, else dv_ipu and dv_maximizer, too
//   DVNN_KERNEL_SYSFS      "ub_size=524288,mac_num=1152": values in /sys/class/dmp_dv/dv_conv
//   DVNN_KERNEL_CMA        bytes of contiguous memory (default 256 MiB)
//   DVNN_KERNEL_COHERENT   1: the CPU's caches are coherent with the device
//   DVNN_KERNEL_PERIOD_MS  the most that a wait takes (default 2000; 0: until a test says so)
//   DVNN_KERNEL_STATE      a file by which processes share the board
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dvnn::kernel {

struct Board {
  std::map<std::string, std::string> conv_values;  // sysfs
  bool only_conv = false, coherent = false;
  uint64_t cma_bytes = uint64_t{256} << 20;
  int period_ms = 2000;
  std::string state;
};
Board board_of_environment();

constexpr int kIon = -1;  // beside the minor numbers 0, 1 and 2

/// Returns the device that a path in /dev names, if the board has it.
std::optional<int> device_of(const Board& board, const std::string& path);
/// Returns the text of a file in /sys/class/dmp_dv or of /proc/meminfo, given the memory that is
/// free. None: it is no such file; empty: it is not there.
std::optional<std::string> text_of(const Board& board, const std::string& path,
                                   uint64_t free_bytes);

}  // namespace dvnn::kernel
