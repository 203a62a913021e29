// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "network/network.h"

namespace dvnn::tools {

/// Runs the network some times on made-up numbers; each step's median, milliseconds. Zero where the
/// device does not tell steps apart.
Result<std::vector<double>> measure_steps(const std::shared_ptr<network::Network>& network);

}  // namespace dvnn::tools
