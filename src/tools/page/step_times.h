// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "network/network.h"

namespace dvnn::tools {

/// Runs the network several times on made-up numbers. Returns each step's median in milliseconds.
/// Where the device does not time commands separately, each also runs by itself, and the time of
/// all together is shared out in that proportion.
Result<std::vector<double>> measure_steps(const std::shared_ptr<network::Network>& network);

}  // namespace dvnn::tools
