// SPDX-License-Identifier: Apache-2.0
// From text to a JSON value; the way back is Json::dump().
#pragma once

#include <istream>

#include "base/json_value.h"

namespace dvnn {

/// Whether all of the stream is one JSON value. Of members with one name the last counts. The depth
/// and the size are not limited: parse_json() (json.h) limits them.
bool read_json(std::istream& stream, Json* value);

}  // namespace dvnn
