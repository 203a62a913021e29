// SPDX-License-Identifier: Apache-2.0
// Files of labels: a label per line, class 0 first.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::objects {

/// The file's lines, each printable UTF-8 of at most 1,024 bytes. Errors name file and line.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace dvnn::objects
