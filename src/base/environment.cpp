// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <cerrno>
#include <cstdlib>

namespace dvnn {

const char* environment(const char* name) {
  const char* value = secure_getenv(name);
  return value && *value ? value : nullptr;
}

std::optional<uint64_t> environment_number(const char* name) {
  const char* text = environment(name);
  if (!text || *text < '0' || *text > '9') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return value;
}

}  // namespace dvnn
