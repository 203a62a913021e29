// SPDX-License-Identifier: Apache-2.0
// A graph of the steps: which reads what which writes.
#pragma once

#include <vector>

#include "network/model.h"

namespace dvnn::tools {

constexpr int kFromInput = -1;  // stands for the network's input among steps

/// For each step the steps whose results it reads, or kFromInput, once for each.
std::vector<std::vector<int>> step_sources(const network::Model& model);

}  // namespace dvnn::tools
