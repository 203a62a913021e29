// SPDX-License-Identifier: Apache-2.0
// Reads files that people write: labels, regions, zones.
#pragma once

#include <string>

#include "base/result.h"

namespace dvnn {

/// The text of a file, cut off after `most` bytes and one more, by which the caller sees that it is
/// too long. Errors: kNotFound and kIo, with the path.
Result<std::string> read_text_file(const std::string& path, size_t most);

}  // namespace dvnn
