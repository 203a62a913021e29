// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace dvnn {

std::string format(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  va_list again;
  va_copy(again, args);
  const int n = std::vsnprintf(nullptr, 0, fmt, args);
  va_end(args);
  std::string out(n > 0 ? static_cast<size_t>(n) : 0, '\0');
  if (n > 0) std::vsnprintf(&out[0], out.size() + 1, fmt, again);
  va_end(again);
  return out;
}

namespace {

// Returns the length of the UTF-8 sequence at `at`, or 0 if there is none (RFC 3629).
size_t sequence_length(const std::string& text, size_t at) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned lead = byte(at), second = byte(at + 1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(at + 1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    // Refuses sequences longer than necessary, and halves of surrogate pairs.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
    return follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

// Whether a valid sequence is a control character that terminals obey, or a mark that changes the
// order in which a line is displayed.
bool is_control(const std::string& text, size_t at, size_t length) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (length == 2) {
    const bool c1 = byte(0) == 0xc2 && byte(1) < 0xa0;            // U+0080 to U+009F
    const bool arabic_mark = byte(0) == 0xd8 && byte(1) == 0x9c;  // U+061C
    return c1 || arabic_mark;
  }
  if (length != 3 || byte(0) != 0xe2) return false;
  const bool marks = byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f);   // U+200E, U+200F
  const bool turns = byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae;     // U+2028 to U+202E
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;  // U+2066 to U+2069
  return marks || turns || isolates;
}

}  // namespace

bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequence_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (continues && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

std::string printable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequence_length(text, i);
    if (length == 0) {
      out += '?';
      ++i;
    } else if (is_control(text, i, length)) {
      out += '?';
      i += length;
    } else {
      out.append(text, i, length);
      i += length;
    }
  }
  return out;
}

bool is_printable(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequence_length(text, i);
    if (length == 0 || is_control(text, i, length)) return false;
    i += length;
  }
  return true;
}

std::string short_text(const std::string& text, size_t most) {
  if (text.size() <= most) return printable(text);
  size_t end = most > 3 ? most - 3 : 0;
  // Do not cut within a character: its bytes after the first begin with the bits 10.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return printable(text.substr(0, end)) + "...";
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // without a slash npos + 1 is 0
}

std::string folder_name(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

std::array<uint8_t, 256> values_of_digits() {
  std::array<uint8_t, 256> values;
  values.fill(kNoDigit);
  for (uint8_t i = 0; i < kNoDigit; ++i) values[static_cast<unsigned char>(kDigits[i])] = i;
  return values;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      out.push_back(padding ? '=' : kDigits[group >> (18 - 6 * k) & 63]);
    }
  }
  return out;
}

std::optional<std::string> from_base64(const std::string& text) {
  static const std::array<uint8_t, 256> values = values_of_digits();
  if (text.size() % 4 != 0) return std::nullopt;
  size_t digits = text.size();
  while (digits > 0 && digits + 2 > text.size() && text[digits - 1] == '=') --digits;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < digits; ++i) {
    const uint8_t value = values[static_cast<unsigned char>(text[i])];
    if (value == kNoDigit) return std::nullopt;
    group = group << 6 | value;
    // Each digit of four except the first completes a byte.
    if (i % 4 != 0) out.push_back(static_cast<char>(group >> (6 - 2 * (i % 4)) & 255));
  }
  return out;
}

}  // namespace dvnn
