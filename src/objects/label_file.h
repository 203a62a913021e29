// SPDX-License-Identifier: Apache-2.0
// Reads files of labels: one per line, class 0 first.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::objects {

/// Returns the file's lines: printable UTF-8 of at most 1,024 bytes each. Errors name file and
/// line.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace dvnn::objects
