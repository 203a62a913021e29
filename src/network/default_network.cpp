// SPDX-License-Identifier: Apache-2.0
#include "network/default_network.h"

#include "base/environment.h"

namespace dvnn::network {

std::string default_network() {
  const char* path = environment("DVNN_DEFAULT_NETWORK");
  return path ? path : DVNN_DEFAULT_NETWORK;
}

}  // namespace dvnn::network
