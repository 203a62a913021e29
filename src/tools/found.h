// SPDX-License-Identifier: Apache-2.0
// Prints the objects of a picture for people, and writes them in the format of `dvnet run --json`.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "objects/object.h"

namespace dvnn::tools {

/// Prints the picture's path and a line for each object.
void print_objects(const std::string& path, const objects::Objects& found, int width, int height);

/// Returns a JSON object for each object. Places are fractions of a picture of `width` x `height`
/// pixels, in single precision. Absent details are left out. A mask's cells are run-length encoded
/// row by row: a value, its count, and so on.
OrderedJson objects_json(const objects::Objects& found, double width, double height);

}  // namespace dvnn::tools
