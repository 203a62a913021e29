// SPDX-License-Identifier: Apache-2.0
// CPU layers from libraries that users bring (include/dvnn_layer.h).
#pragma once

#include <string>

#include "layers/cpu_layer.h"

namespace dvnn::layers {

/// Makes the types in the library at `path` known to create_cpu_layer(), for the life of the
/// process. Loading a library again does nothing. Errors name the library: kNotFound, kIo,
/// kMalformed (no such library, or a type that is known already).
Status load_module(const std::string& path);

/// The factory's work for a type that a library brought; null if there is no such type.
Result<std::unique_ptr<CpuLayer>> create_module_layer(const std::string& type,
                                                      const nlohmann::json& params,
                                                      Span<const TensorDesc> inputs,
                                                      Span<const TensorDesc> outputs);

}  // namespace dvnn::layers
