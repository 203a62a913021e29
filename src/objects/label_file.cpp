// SPDX-License-Identifier: Apache-2.0
#include "objects/label_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/format.h"

namespace dvnn::objects {

Result<std::vector<std::string>> read_labels(const std::string& path) {
  constexpr size_t kMaxFileBytes = 1 << 20, kMaxLabels = 65536, kMaxLabelBytes = 1024;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "'" + path + "': " + std::strerror(errno)};
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Error{ErrorCode::kIo, "'" + path + "' cannot be read"};
  std::vector<std::string> labels;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string label = text.substr(begin, end - begin);
    if (!label.empty() && label.back() == '\r') label.pop_back();
    labels.push_back(short_text(label, kMaxLabelBytes));
    begin = end + 1;
  }
  if (text.size() > kMaxFileBytes || labels.size() > kMaxLabels) {
    return Error{ErrorCode::kLimit, format("'%s' has more than %zu bytes or %zu labels",
                                           path.c_str(), kMaxFileBytes, kMaxLabels)};
  }
  return labels;
}

}  // namespace dvnn::objects
