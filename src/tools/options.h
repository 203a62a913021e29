// SPDX-License-Identifier: Apache-2.0
// dvnet's commands and options as data: --help, the manual page and the shell's completion are
// generated from these tables, and the command line is parsed by them with GLib.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"

namespace dvnn::tools {

/// The value of an option: none, a word, the name of a file or folder, an integer, a fraction, or
/// words from repeated options.
enum class Takes { kNothing, kText, kFile, kNumber, kFraction, kTexts };

/// An option: a row of its command's table.
struct Option {
  const char* name;
  char letter;  // short form; 0: none
  Takes takes;
  const char* argument;                  // placeholder in --help; null: no value
  const char* meaning;                   // null: not listed
  const char* fallback = nullptr;        // default value
  Span<const char* const> choices = {};  // values to suggest; others may be valid
};

class Arguments;

/// A command of dvnet. run() returns the exit status: 0, 1 for an error that was printed, 2 for
/// wrong usage.
struct Command {
  const char* name;         // "convert", "bench network"
  const char* summary;      // for the list of commands
  const char* files;        // arguments other than options, for the usage line; may be empty
  const char* description;  // one or two sentences
  Span<const Option> options;
  int (*run)(const Arguments& arguments);
};

/// Returns an option's meaning with its choices and default: "Channels of the input: bgr (default),
/// rgb, gray".
std::string describe(const Option& option);

/// A command line, parsed by its command's table. Reading an option that is not in the table, or as
/// another type, is a bug of the command and throws std::logic_error.
class Arguments {
 public:
  /// Parses arguments; `argv` begins with the command's name. --help prints the help and exits.
  static Result<Arguments> parse(const Command& command, int argc, char** argv);
  const Command& command() const { return *command_; }
  /// Returns the arguments other than options.
  const std::vector<std::string>& files() const { return files_; }
  /// Whether an option was given; not for integers, and not for fractions with a default.
  bool given(const char* name) const;
  /// Return an option's value or default; empty if it has neither.
  std::string text(const char* name) const;  // for kText and kFile
  int number(const char* name) const;
  double fraction(const char* name) const;
  std::vector<std::string> texts(const char* name) const;

 private:
  struct Value;
  const Value& value(const char* name, std::initializer_list<Takes> kinds) const;

  const Command* command_ = nullptr;
  std::map<std::string, std::shared_ptr<Value>> values_;
  std::vector<std::string> files_;
};

inline constexpr const char* kDevices[] = {"auto", "fpga", "soft"};
/// Option of commands that run a network.
inline constexpr Option kDeviceOption = {
    "device",
    'd',
    Takes::kText,
    "DEVICE",
    "Device to run on, or its library (default: $DVNN_DEVICE, or auto)",
    nullptr,
    kDevices};

/// Prints "dvnet: message" to stderr; returns 1.
int fail(const Error& error);

/// Prints "dvnet COMMAND: message; see --help" to stderr; returns 2.
int wrong_usage(const Command& command, const std::string& message);

/// Parses "1,2.5,3": three floats, or one that is repeated three times.
Result<std::vector<float>> parse_triple(const std::string& option, const std::string& text);

/// Returns the contents of a JSON file, or the argument itself if it begins with '{'.
Result<std::string> json_argument(const std::string& argument);

}  // namespace dvnn::tools
