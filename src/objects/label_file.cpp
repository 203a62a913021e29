// SPDX-License-Identifier: Apache-2.0
#include "objects/label_file.h"

#include <algorithm>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::objects {
namespace {

constexpr size_t kMaxLabelBytes = 1024;

// Returns what makes a line unfit as a label, or null.
const char* problem_of(const std::string& line) {
  if (!is_utf8(line)) return "is no UTF-8 text";
  if (!is_printable(line)) {
    return "has a control character, a tab, or a mark of the direction of writing";
  }
  return line.size() > kMaxLabelBytes ? "has more than 1024 bytes" : nullptr;
}

}  // namespace

Result<std::vector<std::string>> read_labels(const std::string& path) {
  constexpr size_t kMaxFileBytes = 1 << 20, kMaxLabels = 65536;
  static const std::string kByteOrderMark = "\xef\xbb\xbf";  // some editors begin files with it
  DVNN_ASSIGN(const std::string text, read_file(path, kMaxFileBytes));
  std::vector<std::string> labels;
  size_t begin = text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0 ? 3 : 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string label = text.substr(begin, end - begin);
    if (!label.empty() && label.back() == '\r') label.pop_back();
    if (const char* problem = problem_of(label)) {
      return malformed(format("'%s', line %zu: it %s; a label is a line of text", path.c_str(),
                              labels.size() + 1, problem));
    }
    if (labels.size() == kMaxLabels) {
      return too_large(format("'%s' has more than %zu labels", path.c_str(), kMaxLabels));
    }
    labels.push_back(std::move(label));
    begin = end + 1;
  }
  if (labels.empty()) return malformed("'" + path + "' has no labels");
  return labels;
}

}  // namespace dvnn::objects
