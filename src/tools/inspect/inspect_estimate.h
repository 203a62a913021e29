// SPDX-License-Identifier: Apache-2.0
// `dvnet inspect --estimate`: what a network would take on a board.
#pragma once

#include "device/estimate.h"
#include "network/model.h"

namespace dvnn::tools {

void print_estimate(const network::Model& model, const device::Hardware& hardware);

/// {"hardware": {...}, "steps": [{name, us, clocks, bus_bytes, tiles, waits_for_memory}],
/// "device_ms"}; steps of the CPU are left out.
Json estimate_to_json(const network::Model& model, const device::Hardware& hardware);

}  // namespace dvnn::tools
