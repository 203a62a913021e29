// SPDX-License-Identifier: Apache-2.0
// `dvnet inspect --estimate`: estimates a network's time on a board.
#pragma once

#include <string>

#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

/// `about` says by what board's report the hardware is corrected, or is empty.
void print_estimate(const network::Model& model, const device::Hardware& hardware,
                    const std::string& about);

/// Returns {"hardware": {...}, "steps": [{name, us, clocks, bus_bytes, tiles, waits_for_memory}],
/// "device_ms", "corrected_by"}, without steps on the CPU.
Json estimate_to_json(const network::Model& model, const device::Hardware& hardware,
                      const std::string& about);

}  // namespace dvnn::tools
