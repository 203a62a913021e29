// SPDX-License-Identifier: Apache-2.0
#include "publish/base64.h"

#include <cstdint>

namespace dvnn::publish {

std::string base64(const std::string& bytes) {
  static const char* const digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      out.push_back(padding ? '=' : digits[group >> (18 - 6 * k) & 63]);
    }
  }
  return out;
}

}  // namespace dvnn::publish
