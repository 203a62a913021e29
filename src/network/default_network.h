// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dvnn::network {

/// Returns the network file for elements that name none: $DVNN_DEFAULT_NETWORK, else the installed
/// one.
std::string default_network();

}  // namespace dvnn::network
