// SPDX-License-Identifier: Apache-2.0
// What a machine tells about itself that a network's time on it depends on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "device/device.h"

namespace dvnn::tools {

constexpr size_t kMostReportedText = 255;  // bytes, as a file's name may have

struct BoardFacts {
  // --- the machine ---
  std::string system;  // "Linux 5.10.0 aarch64"
  std::string model;   // of the device tree, or empty
  int64_t processors = 0;
  int64_t memory_kb = -1, cma_kb = -1, free_cma_kb = -1;  // negative: not said
  // --- the device ---
  bool software = true;
  std::string library, driver;  // its file's name and its version
  int64_t conv_mhz = 0, ub_bytes = 0, max_kernel = 0;
  int64_t macs = 0;                // 0: not said
  std::string hardware, revision;  // the kernel driver's hw_version, svn_version
};

/// Returns the kilobytes in a line of /proc/meminfo, or -1.
int64_t kilobytes(const std::string& meminfo, const std::string& name);

/// Reads the facts about this machine; the device's from the folder in which its driver has them.
BoardFacts machine_facts(const std::string& sysfs = "/sys/class/dmp_dv/dv_conv");
/// Adds those of an open device.
void add_device(const device::Device& device, BoardFacts* facts);

/// Returns them as two sentences.
std::string to_text(const BoardFacts& facts);

OrderedJson to_json(const BoardFacts& facts);
/// Reads what to_json() wrote; the file may be anyone's.
Result<BoardFacts> facts_from_json(const Json& machine, const Json& device);

}  // namespace dvnn::tools
