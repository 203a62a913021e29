// SPDX-License-Identifier: Apache-2.0
// Pictures as JPEG.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace dvnn::publish {

/// Encodes `width` x `height` pixels of three bytes (red, green, blue), in rows `stride` bytes
/// apart, as a JPEG.
Result<std::string> encode_jpeg(const unsigned char* pixels, int width, int height, size_t stride,
                                int quality);

}  // namespace dvnn::publish
