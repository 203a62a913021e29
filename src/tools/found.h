// SPDX-License-Identifier: Apache-2.0
// What was found in a picture: printed for people, in the format of `dvnet run --json`, and drawn.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "objects/object.h"
#include "tools/pictures.h"
#include "tools/session.h"

namespace dvnn::tools {

/// Prints the picture's path and a line for each object.
void print_objects(const std::string& path, const objects::Objects& found, int width, int height);

/// Returns a JSON object for each object. Places are fractions of a picture of `width` x `height`
/// pixels, in single precision. Absent details are left out. A mask's cells are run-length encoded
/// row by row: a value, its count, and so on.
OrderedJson objects_json(const objects::Objects& found, double width, double height);

/// Writes `picture` with the objects as FOLDER/NAME.png, where NAME is that of `path`.
Status write_drawn(const std::string& folder, const std::string& path, const Bitmap& picture,
                   const objects::Objects& found);

/// Writes the last run's output as FOLDER/NAME.png, if the only output is a picture: one or three
/// channels, at least 8 pixels wide and high.
Status write_output_picture(const std::string& folder, const std::string& path, Session* session);

}  // namespace dvnn::tools
