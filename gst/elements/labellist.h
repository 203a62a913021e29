// SPDX-License-Identifier: Apache-2.0
// Properties that list labels.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace dvnn::gst {

/// The text without the spaces around it.
inline std::string trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text;
}

/// Splits a property's text at commas and trims the parts; empty parts are left out.
inline std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> entries;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string entry = trimmed(text.substr(begin, end - begin));
    if (!entry.empty()) entries.push_back(std::move(entry));
    begin = end + 1;
  }
  return entries;
}

/// Labels from a property's text.
class LabelList {
 public:
  LabelList() = default;
  explicit LabelList(const std::string& text) : text_(text) {
    for (std::string& label : split_list(text)) labels_.insert(std::move(label));
  }
  /// Reads `text` again if it is not what was read last.
  void set(const std::string& text) {
    if (text != text_) *this = LabelList(text);
  }
  bool empty() const { return labels_.empty(); }
  bool has(const std::string& label) const { return labels_.count(label) > 0; }

 private:
  std::string text_;
  std::unordered_set<std::string> labels_;
};

}  // namespace dvnn::gst
