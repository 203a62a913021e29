// SPDX-License-Identifier: Apache-2.0
// The one way to environment variables.
#pragma once

#include <cstdint>
#include <optional>

namespace dvnn {

/// A variable's value; null if it is not set, is empty, or the program has more rights than its
/// caller, who must not steer it then (secure_getenv()).
const char* environment(const char* name);

/// The same as a whole number; nothing if it is anything else.
std::optional<uint64_t> environment_number(const char* name);

}  // namespace dvnn
