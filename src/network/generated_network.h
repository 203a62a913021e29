// SPDX-License-Identifier: Apache-2.0
// Networks that are C++ sources, built as a library (include/dmp_network.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "network/network.h"

namespace dvnn::network {

/// Returns whether the file at `path` is a shared library.
bool is_generated(const std::string& path);

/// Loads such a network. Errors name the file that is wrong. Its model() has neither weights nor
/// steps.
Result<std::shared_ptr<Network>> load_generated(const NetworkSource& source,
                                                std::shared_ptr<device::Device> device);

/// A layer as the sources declare it, for people to read.
struct GeneratedLayer {
  std::string name;
  const char* kind;
  bool on_device;
  std::string input, output;  // "width x height x channels", as far as there are dimensions
};

/// Returns the layers of a network that load_generated() has made, in order; none of other
/// networks.
const std::vector<GeneratedLayer>& generated_layers(const Network& network);

}  // namespace dvnn::network
