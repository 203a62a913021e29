// SPDX-License-Identifier: Apache-2.0
// Writes pictures: objects drawn like dvoverlay draws them, and outputs that are pictures.
#pragma once

#include <string>

#include "base/result.h"
#include "objects/object.h"
#include "tools/bitmap.h"
#include "tools/session.h"

namespace dvnn::tools {

/// Writes `picture` with the objects as FOLDER/NAME.png, where NAME is that of `path`.
Status write_drawn(const std::string& folder, const std::string& path, const Bitmap& picture,
                   const objects::Objects& found);

/// Writes the last run's output as FOLDER/NAME.png, if the only output is a picture: one or three
/// channels, at least 8 pixels wide and high.
Status write_output_picture(const std::string& folder, const std::string& path, Session* session);

}  // namespace dvnn::tools
