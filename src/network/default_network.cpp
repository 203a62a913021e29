// SPDX-License-Identifier: Apache-2.0
#include "network/default_network.h"

#include <cstdlib>

namespace dvnn::network {

std::string default_network() {
  const char* path = secure_getenv("DVNN_DEFAULT_NETWORK");
  return path && *path ? path : DVNN_DEFAULT_NETWORK;
}

}  // namespace dvnn::network
