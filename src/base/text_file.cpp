// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace dvnn {

Result<std::string> read_text_file(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "'" + path + "': " + std::strerror(errno)};
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Error{ErrorCode::kIo, "'" + path + "' cannot be read"};
  return text;
}

}  // namespace dvnn
