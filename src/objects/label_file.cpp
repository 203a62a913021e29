// SPDX-License-Identifier: Apache-2.0
#include "objects/label_file.h"

#include <algorithm>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::objects {

Result<std::vector<std::string>> read_labels(const std::string& path) {
  constexpr size_t kMaxFileBytes = 1 << 20, kMaxLabels = 65536, kMaxLabelBytes = 1024;
  DVNN_ASSIGN(const std::string text, read_file(path, kMaxFileBytes));
  std::vector<std::string> labels;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string label = text.substr(begin, end - begin);
    if (!label.empty() && label.back() == '\r') label.pop_back();
    labels.push_back(short_text(label, kMaxLabelBytes));
    begin = end + 1;
  }
  if (labels.size() > kMaxLabels) {
    return Error{ErrorCode::kLimit,
                 format("'%s' has more than %zu labels", path.c_str(), kMaxLabels)};
  }
  return labels;
}

}  // namespace dvnn::objects
