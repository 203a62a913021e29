// SPDX-License-Identifier: Apache-2.0
// Reads and writes picture files.
#pragma once

#include <opencv2/core.hpp>
#include <string>

#include "base/result.h"

namespace dvnn::tools {

/// Reads a file in any format that OpenCV supports, as BGR. Errors: kNotFound or kIo (the file
/// cannot be read), kMalformed (no picture, or a broken one).
Result<cv::Mat> read_picture(const std::string& path);

/// Encodes an 8-bit gray, BGR or BGRA picture as PNG.
Result<std::string> encode_png(const cv::Mat& picture);

/// Writes an 8-bit gray, BGR or BGRA picture as PNG.
Status write_png(const std::string& path, const cv::Mat& picture);

}  // namespace dvnn::tools
