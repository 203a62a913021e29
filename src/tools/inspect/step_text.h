// SPDX-License-Identifier: Apache-2.0
// Describes a network's steps in text and numbers.
#pragma once

#include <string>

#include "network/model.h"

namespace dvnn::tools {

/// Returns a step's runs on the device, "conv 3x3/2+max 2x2/2+relu | conv 1x1", or the type of a
/// CPU layer.
std::string describe(const network::Step& step);

/// Returns the bytes of packed weights that a step reads.
size_t weight_bytes(const network::Step& step);

}  // namespace dvnn::tools
