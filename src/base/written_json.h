// SPDX-License-Identifier: Apache-2.0
// JSON that people write: settings, areas, parameters.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn {

/// Parses a string as parse_json() does. An error says at which line it is, and a name that stands
/// twice in an object is one: one of the two values would not count, without a word. `what` names
/// the string in errors.
Result<Json> parse_written_json(const std::string& text, const std::string& what);

}  // namespace dvnn
