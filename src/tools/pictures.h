// SPDX-License-Identifier: Apache-2.0
// Reads and writes picture files.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/bitmap.h"

namespace dvnn::tools {

/// Reads a file in any format that the module supports (picture_codec.h), as BGR. Errors: kNotFound
/// or kIo (the file cannot be read), kMalformed (no picture, or a broken one).
Result<Bitmap> read_picture(const std::string& path);

/// Encodes an 8-bit gray, BGR or BGRA picture as PNG.
Result<std::string> encode_png(const Bitmap& picture);

/// Writes an 8-bit gray, BGR or BGRA picture as PNG.
Status write_png(const std::string& path, const Bitmap& picture);

}  // namespace dvnn::tools
