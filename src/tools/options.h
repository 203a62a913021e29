// SPDX-License-Identifier: Apache-2.0
// Command-line options of one command, on GLib's parser.
#pragma once

#include <glib.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::tools {

/// A string that GOption fills; freed with the object.
class OptionText {
 public:
  OptionText() = default;
  OptionText(const OptionText&) = delete;
  OptionText& operator=(const OptionText&) = delete;
  ~OptionText() { g_free(value_); }
  char** out() { return &value_; }
  bool given() const { return value_ != nullptr; }
  std::string text(const char* fallback = "") const { return value_ ? value_ : fallback; }

 private:
  char* value_ = nullptr;
};

/// A list of strings, of an option that may be given several times.
class TextList {
 public:
  TextList() = default;
  TextList(const TextList&) = delete;
  TextList& operator=(const TextList&) = delete;
  ~TextList() { g_strfreev(values_); }
  char*** out() { return &values_; }
  std::vector<std::string> texts() const {
    std::vector<std::string> list;
    for (char** value = values_; value && *value; ++value) list.emplace_back(*value);
    return list;
  }

 private:
  char** values_ = nullptr;
};

/// An option, as its row of the table has it.
struct Option {
  std::string name;
  char letter;  // of the short form; 0: none
  std::string meaning;
  std::string argument;  // what stands for it in --help; empty: takes none
  bool takes_file;
};

/// A command's description for parse_options().
struct CommandHelp {
  std::string usage, summary;
  std::vector<Option> options;
};

/// The same, of a command: it is called, and gets no further than to parse_options().
CommandHelp help_of(int (*command)(int argc, char** argv));

/// Parses the options of `dvnet NAME`; `entries` ends with a zero entry. Returns the positional
/// arguments. A --help among them prints the help and exits.
Result<std::vector<std::string>> parse_options(const char* usage, const char* summary,
                                               const GOptionEntry* entries, int argc, char** argv);

/// Prints "dvnet: message" to stderr; returns 1.
int fail(const Error& error);

/// Prints "dvnet COMMAND: message; see --help" to stderr; returns 2.
int wrong_usage(const char* command, const std::string& message);

/// "1,2.5,3" as floats: exactly one (repeated three times) or three values.
Result<std::vector<float>> parse_triple(const std::string& option, const std::string& text);

bool ends_with(const std::string& text, const std::string& end);

/// Writes a file: it appears complete or not at all.
Status write_text(const std::string& path, const std::string& bytes);

/// JSON from the file of that name, or the argument itself if it begins with '{'.
Result<std::string> json_argument(const std::string& argument);

}  // namespace dvnn::tools
