// SPDX-License-Identifier: Apache-2.0
// Estimates of a network's time on a board, for `dvnet inspect --estimate`, and of the device's
// share in its work.
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

/// `about` says by what board's report the hardware is corrected, or is empty.
void print_estimate(const network::Model& model, const device::Hardware& hardware,
                    const std::string& about);

/// Returns {"hardware": {...}, "steps": [{name, us, clocks, bus_bytes, tiles, waits_for_memory}],
/// "device_ms", "corrected_by"}, without steps on the CPU.
Json estimate_to_json(const network::Model& model, const device::Hardware& hardware,
                      const std::string& about);

}  // namespace dvnn::tools
