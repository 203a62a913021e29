// SPDX-License-Identifier: Apache-2.0
// Strings: printf-style formatting into std::string, checked by the compiler, parts of paths, and
// bytes as text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dvnn {

std::string format(const char* fmt, ...) __attribute__((format(printf, 1, 2)));

/// Whether a string is valid UTF-8.
bool is_utf8(const std::string& text);

/// Splits UTF-8 into characters; a byte that continues one belongs to the one before.
std::vector<std::string> characters_of(const std::string& text);

/// Converts untrusted text to one line of valid UTF-8 that is safe on a terminal. Control
/// characters (including those from U+0080 on), marks that change the direction of writing, and
/// stray bytes become '?'.
std::string printable(const std::string& text);

/// Whether printable() would not change `text`.
bool is_printable(const std::string& text);

/// Returns printable() text of at most `most` bytes; "..." replaces the rest.
std::string short_text(const std::string& text, size_t most);

/// Returns all parts as one text, with `between` between them. `text` is a function, or a member,
/// that gives a part's text.
template <typename Parts, typename Text>
std::string joined(const Parts& parts, const char* between, Text text) {
  std::string all;
  for (const auto& part : parts) {
    if (!all.empty()) all += between;
    all += std::invoke(text, part);
  }
  return all;
}

/// The same for texts and whole numbers.
template <typename Parts>
std::string joined(const Parts& parts, const char* between = ", ") {
  return joined(parts, between, [](const auto& part) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(part)>>) {
      return std::to_string(part);
    } else {
      return std::string(part);
    }
  });
}

/// Returns the last part of a path.
std::string base_name(const std::string& path);

/// Returns a path without its last part, with a slash at its end; empty if it names no folder.
std::string folder_name(const std::string& path);

/// Converts ASCII capitals to small letters.
std::string lower_case(std::string text);

bool starts_with(const std::string& text, const std::string& start);
bool ends_with(const std::string& text, const std::string& end);

std::string base64(std::string_view bytes);
/// Returns the bytes of a text. It must consist of whole groups of four, with padding; else returns
/// nothing.
std::optional<std::string> from_base64(const std::string& text);

}  // namespace dvnn
