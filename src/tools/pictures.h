// SPDX-License-Identifier: Apache-2.0
// Picture files.
#pragma once

#include <opencv2/core.hpp>
#include <string>

#include "base/result.h"

namespace dvnn::tools {

/// The picture of a file in one of the formats that OpenCV reads, as BGR. kNotFound or kIo: the
/// file cannot be read; kMalformed: it is no picture, or a broken one.
Result<cv::Mat> read_picture(const std::string& path);

/// Writes a gray, BGR or BGRA picture of 8 bits as PNG.
Status write_png(const std::string& path, const cv::Mat& picture);

}  // namespace dvnn::tools
