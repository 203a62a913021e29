// SPDX-License-Identifier: Apache-2.0
// `dvnet inspect --estimate`: estimates a network's time on a board.
#pragma once

#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

void print_estimate(const network::Model& model, const device::Hardware& hardware);

/// Returns {"hardware": {...}, "steps": [{name, us, clocks, bus_bytes, tiles, waits_for_memory}],
/// "device_ms"}, without steps on the CPU.
Json estimate_to_json(const network::Model& model, const device::Hardware& hardware);

}  // namespace dvnn::tools
