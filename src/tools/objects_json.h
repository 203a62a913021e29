// SPDX-License-Identifier: Apache-2.0
// Writes what was found in a picture as `dvnet run --json` prints it.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "objects/object.h"

namespace dvnn::tools {

/// A JSON object for each. Places are fractions of a picture of `width` x `height` pixels, in
/// single precision. Members that an object does not have are left out. A mask's cells are runs:
/// value, how many, and so on, row by row.
OrderedJson objects_json(const objects::Objects& found, double width, double height);

}  // namespace dvnn::tools
