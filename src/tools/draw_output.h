// SPDX-License-Identifier: Apache-2.0
// Pictures that dvnet writes: what was found, drawn as dvoverlay does it, and outputs that are
// pictures.
#pragma once

#include <opencv2/core.hpp>
#include <string>

#include "base/result.h"
#include "objects/object.h"
#include "tools/session.h"

namespace dvnn::tools {

/// Writes `picture` with what was found on it as FOLDER/NAME.png; NAME is that of `path`.
Status write_drawn(const std::string& folder, const std::string& path, const cv::Mat& picture,
                   const objects::Objects& found);

/// Writes the last run's output as FOLDER/NAME.png, if the network's only output is a picture: of
/// one or three channels, and at least 8 pixels wide and high.
Status write_output_picture(const std::string& folder, const std::string& path, Session* session);

}  // namespace dvnn::tools
