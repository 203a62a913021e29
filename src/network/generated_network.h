// SPDX-License-Identifier: Apache-2.0
// Networks that are C++ sources, built as a library (include/dmp_network.h).
#pragma once

#include <memory>
#include <string>

#include "network/network.h"

namespace dvnn::network {

/// Returns whether the file at `path` is a shared library.
bool is_generated(const std::string& path);

/// Loads such a network. Errors name the file that is wrong. Its model() has no weights, and its
/// steps serve only for inspection.
Result<std::shared_ptr<Network>> load_generated(const NetworkSource& source,
                                                std::shared_ptr<device::Device> device);

}  // namespace dvnn::network
