// SPDX-License-Identifier: Apache-2.0
// Shared libraries that users bring.
#pragma once

#include <string>

#include "base/result.h"

namespace dvnn {

/// Loads the library at `path`, and never one of the system's of that name. kNotFound: no such file
/// exists; kIo: the file cannot be loaded, and why.
Result<void*> open_library(const std::string& path);

}  // namespace dvnn
