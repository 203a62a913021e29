// SPDX-License-Identifier: Apache-2.0
#include "convert/exported.h"

#include <cctype>
#include <cstdlib>

#include "base/format.h"

namespace dvnn::convert {
namespace {

constexpr size_t kMostNames = 65536, kLongestName = 256;

// Reads the output of Python's repr() for numbers, strings, and dictionaries and lists of them.
class PythonReader {
 public:
  explicit PythonReader(const std::string& text) : at_(text.c_str()) {}

  bool take(char c) {
    skip_spaces();
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  bool take_number(long* number) {
    skip_spaces();
    const char quote = *at_ == '\'' || *at_ == '"' ? *at_ : '\0';  // keys are quoted in JSON
    if (quote != '\0') ++at_;
    if (!std::isdigit(static_cast<unsigned char>(*at_))) return false;
    char* end = nullptr;
    *number = std::strtol(at_, &end, 10);
    at_ = end;
    return quote == '\0' || take(quote);
  }

  bool take_text(std::string* text) {
    skip_spaces();
    const char quote = *at_;
    if (quote != '\'' && quote != '"') return false;
    for (++at_; *at_ != '\0' && *at_ != quote; ++at_) {
      if (*at_ == '\\' && at_[1] != '\0') ++at_;
      text->push_back(*at_);
    }
    return take(quote);
  }

 private:
  void skip_spaces() {
    while (std::isspace(static_cast<unsigned char>(*at_))) ++at_;
  }
  const char* at_;
};

std::string value_of(const Metadata& metadata, const char* key) {
  const auto it = metadata.find(key);
  return it == metadata.end() ? "" : it->second;
}

// Reads [a, b], two small positive numbers.
bool read_pair(const std::string& text, int* first, int* second) {
  constexpr long kMost = 32768;
  PythonReader in(text);
  long a = 0, b = 0;
  if (!(in.take('[') || in.take('(')) || !in.take_number(&a) || !in.take(',') ||
      !in.take_number(&b) || a < 1 || b < 1 || a > kMost || b > kMost) {
    return false;
  }
  *first = static_cast<int>(a);
  *second = static_cast<int>(b);
  return true;
}

struct TaskName {
  const char* name;
  Task task;
};
constexpr TaskName kTasks[] = {{"detect", Task::kDetect},
                               {"segment", Task::kSegment},
                               {"pose", Task::kPose},
                               {"obb", Task::kObb},
                               {"classify", Task::kClassify}};

}  // namespace

std::vector<std::string> read_python_names(const std::string& text) {
  PythonReader in(text);
  const bool list = in.take('[');
  if (!list && !in.take('{')) return {};
  const char end = list ? ']' : '}';
  std::vector<std::string> names;
  while (names.size() < kMostNames) {
    if (in.take(end)) return names;
    if (!names.empty() && !in.take(',')) break;
    if (!names.empty() && in.take(end)) return names;
    long number = static_cast<long>(names.size());
    std::string name;
    if (!list && (!in.take_number(&number) || !in.take(':'))) break;
    if (number != static_cast<long>(names.size()) || !in.take_text(&name)) break;
    names.push_back(short_text(name, kLongestName));
  }
  return {};
}

std::optional<Exported> read_exported(const Metadata& metadata) {
  if (value_of(metadata, "author") != "Ultralytics") return {};
  const std::string task = value_of(metadata, "task");
  for (const TaskName& row : kTasks) {
    if (task != row.name) continue;
    Exported exported;
    exported.task = row.task;
    exported.description = short_text(value_of(metadata, "description"), kLongestName);
    exported.labels = read_python_names(value_of(metadata, "names"));
    read_pair(value_of(metadata, "imgsz"), &exported.height, &exported.width);
    if (!read_pair(value_of(metadata, "kpt_shape"), &exported.points, &exported.point_size)) {
      exported.points = exported.point_size = 0;
    }
    const std::string args = value_of(metadata, "args");
    exported.corners = exported.task != Task::kObb && args.find("'nms': True") != std::string::npos;
    return exported;
  }
  return {};
}

}  // namespace dvnn::convert
