// SPDX-License-Identifier: Apache-2.0
// How much of a network the device does, and how much the processor beside it.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

struct WorkShare {
  double device_macs = 0, cpu_macs = 0;  // multiply-adds for each frame
  double device_us = 0, cpu_us = 0;      // estimated for a board (device/estimate.h)

  double of_macs() const;  // the device's part, 0..1; 1 of nothing
  double of_time() const;
};

WorkShare share_of(const network::Model& model, const device::Hardware& hardware);

/// "device 62 % of 4412.3 MMAC; estimated for a board: 31.2 ms device, 85.0 ms CPU".
std::string to_text(const WorkShare& share);
Json to_json(const WorkShare& share);

}  // namespace dvnn::tools
