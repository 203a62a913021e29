// SPDX-License-Identifier: Apache-2.0
// The one place that reads environment variables.
#pragma once

#include <cstdint>
#include <optional>

namespace dvnn {

/// Returns a variable's value. Null if it is not set or empty, or if the program has more rights
/// than its caller, who must not control it then (secure_getenv()).
const char* environment(const char* name);

/// Returns a variable's value as a whole number, or nothing if it is none.
std::optional<uint64_t> environment_number(const char* name);

}  // namespace dvnn
