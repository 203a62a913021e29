// SPDX-License-Identifier: Apache-2.0
// A network's steps in words and figures.
#pragma once

#include <string>

#include "network/model.h"

namespace dvnn::tools {

/// "conv 3x3/2+max 2x2/2+relu | conv 1x1": what the device does in a step, run by run; or the CPU
/// layer's type.
std::string describe(const network::Step& step);

/// Packed weights that a step reads, bytes.
size_t weight_bytes(const network::Step& step);

}  // namespace dvnn::tools
