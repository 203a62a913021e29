// SPDX-License-Identifier: Apache-2.0
// Strings: printf-style formatting into std::string, checked by the compiler, and parts of paths.
#pragma once

#include <string>

namespace dvnn {

std::string format(const char* fmt, ...) __attribute__((format(printf, 1, 2)));

/// Returns whether a string is UTF-8 throughout.
bool is_utf8(const std::string& text);

/// Makes a string from a file one line of valid UTF-8 that is safe on a terminal: control
/// characters (including those from U+0080 on), marks that change the direction of writing, and
/// stray bytes become '?'.
std::string printable(const std::string& text);

/// Returns whether printable() would leave `text` as it is.
bool is_printable(const std::string& text);

/// printable(), cut to at most `most` bytes; "..." stands for the rest.
std::string short_text(const std::string& text, size_t most);

/// The last part of a path.
std::string base_name(const std::string& path);

/// The path without its last part, with the slash at its end; empty if it names no folder.
std::string folder_name(const std::string& path);

/// ASCII's capitals as small letters.
std::string lower_case(std::string text);

}  // namespace dvnn
