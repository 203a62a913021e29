// SPDX-License-Identifier: Apache-2.0
#include "evaluate/annotations/yolo_yaml.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/format.h"
#include "evaluate/annotations/annotations.h"

namespace dvnn::evaluate {
namespace {

constexpr uint64_t kMostYamlBytes = 4 << 20;
constexpr size_t kMostNames = 65536;

// Returns a scalar without its quotation marks.
std::string scalar_of(const std::string& text) {
  const std::string value = trimmed(text);
  if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
    return value.substr(1, value.size() - 2);
  }
  return value;
}

// Returns the line without a comment after #, unless the # is within quotation marks.
std::string without_comment(const std::string& line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote ? line[i] == quote : line[i] == '"' || line[i] == '\'') quote = quote ? 0 : line[i];
    if (!quote && line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return line.substr(0, i);
  }
  return line;
}

// Returns the entries of [a, 'b, c'] or {0: a, 1: b} without the brackets.
std::vector<std::string> entries_of(const std::string& inside) {
  std::vector<std::string> entries(1);
  char quote = 0;
  for (const char c : inside) {
    if (quote ? c == quote : c == '"' || c == '\'') quote = quote ? 0 : c;
    if (c == ',' && !quote) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  if (trimmed(entries.back()).empty()) entries.pop_back();
  return entries;
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<YoloYaml> read() {
    DVNN_ASSIGN(const std::string text, read_file(path_, kMostYamlBytes));
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      DVNN_TRY(take(without_comment(text.substr(begin, end - begin))));
      begin = end + 1;
    }
    DVNN_TRY(finish_flow());
    return yaml_;
  }

 private:
  [[nodiscard]] Error wrong(const std::string& why) const {
    return {ErrorCode::kMalformed, format("'%s', line %zu: %s", path_.c_str(), line_, why.c_str())};
  }

  Status take(const std::string& line) {
    const std::string text = trimmed(line);
    if (text.empty() || text == "---") return {};
    if (!flow_.empty()) {
      flow_ += " " + text;
      return close_flow();
    }
    const bool nested = line[0] == ' ' || line[0] == '\t' || line[0] == '-';
    return nested ? take_nested(text) : take_key(text);
  }

  Status take_key(const std::string& text) {
    const size_t colon = text.find(':');
    if (colon == std::string::npos)
      return wrong("'" + short_text(text, 80) + "' is no key with a value");
    key_ = trimmed(text.substr(0, colon));
    const std::string value = trimmed(text.substr(colon + 1));
    if (key_ == "path") yaml_.path = scalar_of(value);
    if (key_ == "val" && (value.empty() || value[0] != '[')) yaml_.val = scalar_of(value);
    if (key_ == "kpt_shape") return take_shape(value);
    if (key_ == "names" && !value.empty()) {
      flow_ = value;
      return close_flow();
    }
    return {};
  }

  // Reads a line of a list or a map below `names`.
  Status take_nested(const std::string& text) {
    if (key_ != "names") return {};
    if (text[0] == '-') return add(static_cast<int>(yaml_.names.size()), text.substr(1));
    return add_pair(text);
  }

  Status add_pair(const std::string& text) {
    const size_t colon = text.find(':');
    int index = -1;
    const std::string key = scalar_of(text.substr(0, std::min(colon, text.size())));
    const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (colon == std::string::npos || error != std::errc() || rest != key.data() + key.size()) {
      return wrong("'" + short_text(text, 80) + "' is not an index and the name of a class");
    }
    return add(index, text.substr(colon + 1));
  }

  Status add(int index, const std::string& value) {
    const std::string name = scalar_of(value);
    DVNN_TRY(check_class_name(name, format("'%s', line %zu", path_.c_str(), line_)));
    if (index != static_cast<int>(yaml_.names.size()) || yaml_.names.size() >= kMostNames) {
      return wrong(
          format("class %d follows %zu others; classes are numbered from 0 on, at most %zu", index,
                 yaml_.names.size(), kMostNames));
    }
    yaml_.names.push_back(name);
    return {};
  }

  // Reads [a, b] or {0: a, 1: b}, which may span several lines.
  Status close_flow() {
    const char begin = flow_[0];
    if (begin != '[' && begin != '{')
      return wrong("'names' is '" + short_text(flow_, 80) + "', and not a list");
    if (flow_.back() != (begin == '[' ? ']' : '}')) return {};
    const std::string inside = flow_.substr(1, flow_.size() - 2);
    flow_.clear();
    for (const std::string& entry : entries_of(inside)) {
      DVNN_TRY(begin == '[' ? add(static_cast<int>(yaml_.names.size()), entry) : add_pair(entry));
    }
    return {};
  }

  Status finish_flow() { return flow_.empty() ? Status() : wrong("the list 'names' does not end"); }

  // Reads a shape: "kpt_shape: [17, 3]".
  Status take_shape(const std::string& value) {
    constexpr int kMostPoints = 1024;
    const size_t comma = value.find(',');
    int points = 0, numbers = 0;
    const bool list =
        value.size() > 2 && value[0] == '[' && value.back() == ']' && comma != std::string::npos;
    if (list) {
      const std::string first = trimmed(value.substr(1, comma - 1));
      const std::string second = trimmed(value.substr(comma + 1, value.size() - comma - 2));
      std::from_chars(first.data(), first.data() + first.size(), points);
      std::from_chars(second.data(), second.data() + second.size(), numbers);
    }
    if (points < 1 || points > kMostPoints || (numbers != 2 && numbers != 3)) {
      return wrong("kpt_shape is '" + short_text(value, 80) + "', and not [points, 2 or 3]");
    }
    yaml_.points = points;
    yaml_.numbers_per_point = numbers;
    return {};
  }

  const std::string path_;
  size_t line_ = 0;
  std::string key_, flow_;
  YoloYaml yaml_;
};

}  // namespace

Result<YoloYaml> read_yolo_yaml(const std::string& path) {
  return Reader(path).read();
}

}  // namespace dvnn::evaluate
