// SPDX-License-Identifier: Apache-2.0
// Writes the objects of a picture in the format of `dvnet run --json`.
#pragma once

#include "base/json_fwd.h"
#include "objects/object.h"

namespace dvnn::tools {

/// Returns a JSON object for each object. Places are fractions of a picture of `width` x `height`
/// pixels, in single precision. Absent details are left out. A mask's cells are run-length encoded
/// row by row: a value, its count, and so on.
OrderedJson objects_json(const objects::Objects& found, double width, double height);

}  // namespace dvnn::tools
