// SPDX-License-Identifier: Apache-2.0
// Compares a network's work on the device with that on the CPU.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

struct WorkShare {
  double device_macs = 0, cpu_macs = 0;  // multiply-adds per frame
  double device_us = 0, cpu_us = 0;      // microseconds, estimated for a board (device/estimate.h)

  double of_macs() const;  // the device's share, 0..1; 1 if there is none
  double of_time() const;
};

WorkShare share_of(const network::Model& model, const device::Hardware& hardware);

/// Formats the shares: "device 62 % of 4412.3 MMAC; estimated for a board: 31.2 ms device, 85.0 ms
/// CPU".
std::string to_text(const WorkShare& share);
Json to_json(const WorkShare& share);

}  // namespace dvnn::tools
