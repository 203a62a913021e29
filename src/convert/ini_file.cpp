// SPDX-License-Identifier: Apache-2.0
#include "convert/ini_file.h"

#include <strings.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::convert {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 20;

using Options = std::map<std::string, std::string>;  // by "SECTION.key"

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Removes a comment: it begins with # or ; at the start of a line or after a blank.
std::string without_comment(const std::string& line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
    if (starts && (line[i] == '#' || line[i] == ';')) return line.substr(0, i);
  }
  return line;
}

std::string unquoted(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Result<Options> read_options(const std::string& path) {
  DVNN_ASSIGN(const std::string whole, read_file(path, kMaxBytes));
  std::istringstream file(whole);
  Options options;
  std::string section, line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string text = trimmed(without_comment(line));
    if (text.empty()) continue;
    if (text.front() == '[' && text.back() == ']') {
      section = text.substr(1, text.size() - 2);
      continue;
    }
    const size_t sign = text.find_first_of("=:");
    if (sign == std::string::npos || section.empty()) {
      return malformed(
          format("'%s' line %d: no [SECTION] and no 'key = value'", path.c_str(), number));
    }
    const std::string key = lower_case(trimmed(text.substr(0, sign)));
    options[section + "." + key] = trimmed(text.substr(sign + 1));
  }
  return options;
}

class Reader {
 public:
  Reader(const std::string& path, Options options)
      : path_(path), folder_(folder_name(path)), options_(std::move(options)) {}

  Result<std::string> required(const char* key) {
    used_.push_back(key);
    const auto it = options_.find(key);
    if (it != options_.end() && !it->second.empty()) return it->second;
    return malformed("'" + path_ + "': " + key + " is missing");
  }
  std::string text(const char* key) {
    used_.push_back(key);
    const auto it = options_.find(key);
    return it == options_.end() ? "" : it->second;
  }
  Result<int> number(const char* key, int fallback) {
    const std::string value = text(key);
    if (value.empty()) return fallback;
    size_t end = 0;
    int result = 0;
    if (std::sscanf(value.c_str(), "%d%zn", &result, &end) == 1 && end == value.size()) {
      return result;
    }
    return malformed("'" + path_ + "': " + key + " = " + value + " is no whole number");
  }
  std::string resolved(const std::string& file) const {
    return file.empty() || file[0] == '/' ? file : folder_ + file;
  }
  /// Returns the options that were not read.
  std::vector<std::string> unknown() const {
    std::vector<std::string> names;
    for (const auto& option : options_) {
      if (std::find(used_.begin(), used_.end(), option.first) == used_.end()) {
        names.push_back(option.first);
      }
    }
    return names;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_, folder_;
  Options options_;
  std::vector<std::string> used_;
};

Status read_outputs(Reader* in, IniFile* ini) {
  DVNN_ASSIGN(const std::string folder, in->required("OUTPUT.output_folder"));
  ini->output_folder = in->resolved(unquoted(folder));
  DVNN_ASSIGN(const int quantise, in->number("OUTPUT.quantization", 1));
  DVNN_ASSIGN(const int transpose, in->number("OUTPUT.transpose_weight", -1));
  ini->quantise = quantise != 0;
  ini->hwc = transpose != 0;
  if (transpose == -1) {
    ini->notes.push_back("OUTPUT.transpose_weight is not given: 1, today's default of the tool");
  }
  DVNN_ASSIGN(const int source, in->number("OUTPUT.generate_source", 0));
  DVNN_ASSIGN(const int doxy, in->number("OUTPUT.generate_doxy", 0));
  DVNN_ASSIGN(const int dot, in->number("OUTPUT.generate_dot", 0));
  ini->generates_source = source != 0;
  ini->generates_dot = dot != 0;
  if (doxy != 0) ini->notes.push_back("OUTPUT.generate_doxy is not done: see --verbose, --report");
  if (!in->text("OUTPUT.python_module").empty()) {
    return unsupported("'" + in->path() + "': OUTPUT.python_module is not supported");
  }
  return {};
}

}  // namespace

Result<IniFile> read_ini(const std::string& path) {
  DVNN_ASSIGN(Options options, read_options(path));
  Reader in(path, std::move(options));
  IniFile ini;
  DVNN_ASSIGN(ini.name, in.required("INPUT.name"));
  DVNN_ASSIGN(const std::string origin, in.required("INPUT.origin"));
  DVNN_ASSIGN(const std::string definition, in.required("INPUT.definition"));
  ini.keras = strcasecmp(origin.c_str(), "KERAS") == 0;
  if (!ini.keras && strcasecmp(origin.c_str(), "CAFFE") != 0) {
    return malformed("'" + path + "': INPUT.origin = " + origin + " is neither CAFFE nor KERAS");
  }
  if (ini.name.find('/') != std::string::npos) {
    return malformed("'" + path + "': INPUT.name must not contain '/'");
  }
  ini.definition = in.resolved(unquoted(definition));
  const std::string data = unquoted(in.text("INPUT.data"));
  ini.data = data.empty() ? ini.definition : in.resolved(data);
  DVNN_ASSIGN(const int width, in.number("INPUT.width_override", -1));
  DVNN_ASSIGN(const int height, in.number("INPUT.height_override", -1));
  if (width != -1 && height != -1) {
    if (width < 1 || height < 1) {
      return malformed("'" + path + "': INPUT.width_override and height_override must be positive");
    }
    ini.width = width, ini.height = height;
  } else if (width != height) {
    ini.notes.push_back("INPUT.width_override and height_override work together only: ignored");
  }
  ini.custom_layer = unquoted(in.text("INPUT.custom_layer"));
  DVNN_TRY(read_outputs(&in, &ini));
  DVNN_ASSIGN(const int verbose, in.number("OPTIONAL.verbose", 0));
  ini.verbose = verbose != 0;
  in.text("OPTIONAL.graphviz_path");
  for (const std::string& name : in.unknown()) ini.notes.push_back(name + " is not known: ignored");
  return ini;
}

}  // namespace dvnn::convert
