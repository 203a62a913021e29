// SPDX-License-Identifier: Apache-2.0
// JSON that people write: settings, areas, parameters.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn {

/// Parses a string as parse_json() does. An error says at which line it is, and a name that stands
/// twice in an object is one: one of the two values would not count, without a word. `what` names
/// the string in errors.
Result<Json> parse_written_json(const std::string& text, const std::string& what);

/// Returns where a value begins in a text that parse_written_json() has taken: "line 3, column 5";
/// for a member, where its name ends. `path`: the names of members and indices of elements on the
/// way to it. Returns an empty text if it is not there, or if the text is a single line, which no
/// editor shows by lines.
std::string place_of_value(const std::string& text, const std::vector<std::string>& path);

}  // namespace dvnn
