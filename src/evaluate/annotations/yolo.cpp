// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/format.h"
#include "evaluate/annotations/annotations.h"
#include "objects/label_file.h"

namespace dvnn::evaluate {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostLabelBytes = 16 << 20;
constexpr size_t kMostClasses = 65536;

// A place in a file, for errors.
struct Line {
  const std::string& path;
  size_t number;
  std::string text;

  [[nodiscard]] Error wrong(const std::string& why) const {
    return {ErrorCode::kMalformed, format("'%s', line %zu: '%s' %s", path.c_str(), number,
                                          short_text(text, 80).c_str(), why.c_str())};
  }
};

// Returns the numbers of a line; nothing if it has anything else.
std::optional<std::vector<double>> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  const char *at = text.data(), *const end = at + text.size();
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (true) {
    while (at != end && is_space(*at)) ++at;
    if (at == end) return numbers;
    double value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (rest != end && !is_space(*rest)) || !std::isfinite(value))
      return std::nullopt;
    numbers.push_back(value);
    at = rest;
  }
}

// Returns whether a coordinate is in the picture, with a margin for rounding.
bool is_fraction(double value) {
  constexpr double kRounding = 0.001;
  return value >= -kRounding && value <= 1 + kRounding;
}

// Sets an outline's box and, by the shoelace formula, its area.
void take_outline(const std::vector<double>& numbers, Truth* truth) {
  double x0 = 1, y0 = 1, x1 = 0, y1 = 0, twice = 0;
  const size_t count = numbers.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const size_t next = (i + 1) % count;
    const double x = numbers[1 + 2 * i], y = numbers[2 + 2 * i];
    x0 = std::min(x0, x);
    y0 = std::min(y0, y);
    x1 = std::max(x1, x);
    y1 = std::max(y1, y);
    twice += x * numbers[2 + 2 * next] - numbers[1 + 2 * next] * y;
  }
  truth->box = {x0, y0, x1 - x0, y1 - y0};
  truth->area = std::abs(twice) / 2;
}

// Sets a box from its middle and size, and the points that follow.
void take_box(const std::vector<double>& numbers, const YoloYaml& yaml, Truth* truth) {
  const double width = std::max(0.0, numbers[3]), height = std::max(0.0, numbers[4]);
  truth->box = {numbers[1] - width / 2, numbers[2] - height / 2, width, height};
  truth->area = truth->box.area();
  const auto each = static_cast<size_t>(yaml.numbers_per_point);
  for (size_t i = 5; each > 0 && i + each <= numbers.size(); i += each) {
    const bool there = each == 2 ? numbers[i] != 0 || numbers[i + 1] != 0 : numbers[i + 2] > 0;
    truth->points.push_back({numbers[i], numbers[i + 1], there ? 1.0F : 0.0F});
  }
}

Result<Truth> read_line(const Line& line, const YoloYaml& yaml) {
  const auto numbers = numbers_of(line.text);
  if (!numbers) return line.wrong("is not a list of numbers");
  const size_t with_points = 5 + static_cast<size_t>(yaml.points * yaml.numbers_per_point);
  const bool box = numbers->size() == with_points;
  const bool outline = yaml.points == 0 && numbers->size() >= 7 && numbers->size() % 2 == 1;
  if (!box && !outline) {
    return line.wrong(
        yaml.points > 0
            ? format("has %zu numbers, and not %zu", numbers->size(), with_points)
            : format("has %zu numbers, and not a class and x, y, width and height, or a "
                     "class and the corners of an outline",
                     numbers->size()));
  }
  const double class_id = numbers->at(0);
  if (class_id != std::floor(class_id) || class_id < 0 ||
      class_id >= static_cast<double>(kMostClasses)) {
    return line.wrong("does not begin with the index of a class");
  }
  for (size_t i = 1; i < numbers->size(); ++i) {
    // A point's third number is its visibility: 0, 1 or 2.
    const bool visibility = yaml.numbers_per_point == 3 && i >= 5 && (i - 5) % 3 == 2;
    if (!visibility && !is_fraction(numbers->at(i))) {
      return line.wrong("has coordinates that are not fractions of the picture, 0..1");
    }
  }
  Truth truth;
  truth.class_id = static_cast<int>(class_id);
  if (box) {
    take_box(*numbers, yaml, &truth);
  } else {
    take_outline(*numbers, &truth);
  }
  return truth;
}

Status read_labels_of(const std::string& path, const YoloYaml& yaml, Picture* picture) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMostLabelBytes));
  Line line{path, 0, {}};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    line.text = text.substr(begin, end - begin);
    ++line.number;
    begin = end + 1;
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) continue;
    DVNN_ASSIGN(Truth truth, read_line(line, yaml));
    picture->truths.push_back(std::move(truth));
  }
  return {};
}

// Returns the file of a picture's objects: in `labels` instead of the last `images`, or beside it.
std::string labels_file_of(const std::string& picture) {
  const fs::path path(picture);
  std::vector<fs::path> parts(path.begin(), path.end());
  const auto images = std::find(parts.rbegin(), parts.rend(), fs::path("images"));
  if (images != parts.rend()) *images = "labels";
  fs::path labels;
  for (const fs::path& part : parts) labels /= part;
  return labels.replace_extension(".txt").string();
}

// The folder of pictures to read, and the file that describes them.
struct Place {
  std::string pictures, yaml;
};

// Returns a data.yaml in the folder, or in one of the two above it.
std::string yaml_near(const std::string& folder) {
  for (const fs::path& at :
       {fs::path(folder), fs::path(folder) / "..", fs::path(folder) / "../.."}) {
    for (const char* end : {".yaml", ".yml"}) {
      const std::vector<std::string> files = files_in(at.lexically_normal().string(), end);
      if (files.size() == 1) return files[0];
      for (const std::string& file : files) {
        if (stem_of(file) == "data") return file;
      }
    }
  }
  return "";
}

Result<std::vector<std::string>> names_in_text(const std::string& folder) {
  for (const char* name :
       {"/classes.txt", "/labels/classes.txt", "/../classes.txt", "/obj.names"}) {
    if (is_there(folder + name)) return objects::read_labels(folder + name);
  }
  return std::vector<std::string>();
}

// Returns the folder `val` of data.yaml, below `path` or its own folder; else its own folder.
std::string folder_of(const YoloYaml& yaml, const std::string& file) {
  const fs::path here = fs::path(file).parent_path();
  for (const fs::path& base : {here / yaml.path, here}) {
    if (!yaml.val.empty() && is_folder((base / yaml.val).string()))
      return (base / yaml.val).lexically_normal().string();
  }
  return here.empty() ? "." : here.string();
}

Status check_classes(const std::string& path, DataSet* data) {
  int most = -1;
  for (const Picture& picture : data->pictures) {
    for (const Truth& truth : picture.truths) {
      most = std::max(most, truth.class_id);
      if (data->classes.empty() || truth.class_id < static_cast<int>(data->classes.size()))
        continue;
      return malformed(format("'%s' has an object of class %d; '%s' has the names of %zu classes",
                              labels_file_of(picture.path).c_str(), truth.class_id, path.c_str(),
                              data->classes.size()));
    }
  }
  // Without names, a network's labels are matched by index.
  data->named = !data->classes.empty();
  for (int i = static_cast<int>(data->classes.size()); i <= most; ++i)
    data->classes.push_back(format("class %d", i));
  return {};
}

}  // namespace

Result<DataSet> read_yolo(const std::string& path) {
  YoloYaml yaml;
  const std::string file = is_file(path) ? path : yaml_near(path);
  if (!file.empty()) {
    DVNN_ASSIGN(yaml, read_yolo_yaml(file));
  }
  std::error_code unknown;
  const bool own = !file.empty() && fs::equivalent(fs::path(file).parent_path(), path, unknown);
  std::string folder = is_file(path) || own ? folder_of(yaml, file) : path;
  DataSet data;
  data.source = path;
  data.classes = yaml.names;
  if (data.classes.empty()) {
    DVNN_ASSIGN(data.classes, names_in_text(is_file(path) ? folder : path));
  }
  if (is_folder(folder + "/images")) folder += "/images";
  DVNN_ASSIGN(const std::vector<std::string> paths, pictures_below(folder));
  bool any = false;
  for (const std::string& at : paths) {
    Picture picture;
    picture.path = at;
    picture.in_fractions = true;
    const std::string labels = labels_file_of(at);
    if (is_there(labels)) {
      any = true;
      DVNN_TRY(read_labels_of(labels, yaml, &picture));
    }
    data.pictures.push_back(std::move(picture));
  }
  if (!any && !paths.empty()) {
    return Error{ErrorCode::kNotFound, "none of the pictures in '" + folder +
                                           "' has annotations: '" + labels_file_of(paths[0]) +
                                           "' is missing"};
  }
  DVNN_TRY(check_classes(file.empty() ? path : file, &data));
  return data;
}

// --- data.yaml ----------------------------------------------------------------------------------

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
