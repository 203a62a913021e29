// SPDX-License-Identifier: Apache-2.0
// The graph of steps: which step reads the results of which.
#pragma once

#include <vector>

#include "network/model.h"

namespace dvnn::tools {

constexpr int kFromInput = -1;  // stands for the network's input in lists of steps

/// Returns for each step the steps whose results it reads, or kFromInput, each once.
std::vector<std::vector<int>> step_sources(const network::Model& model);

}  // namespace dvnn::tools
