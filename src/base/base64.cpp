// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <array>
#include <cstdint>

namespace dvnn {
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
