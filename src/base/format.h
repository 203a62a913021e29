// SPDX-License-Identifier: Apache-2.0
// Texts: printf-style formatting into std::string, checked by the compiler, and parts of paths.
#pragma once

#include <string>

namespace dvnn {

std::string format(const char* fmt, ...) __attribute__((format(printf, 1, 2)));

/// A text from a file as one line of valid UTF-8: control characters and stray bytes become '?'.
std::string printable(const std::string& text);

/// The last part of a path.
std::string base_name(const std::string& path);

}  // namespace dvnn
