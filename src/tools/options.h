// SPDX-License-Identifier: Apache-2.0
// dvnet's commands and their options are data: --help, the manual page and the shell's completion
// are made of these tables, and the command line is read by them, on GLib's parser.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"

namespace dvnn::tools {

/// What an option takes: a word, the name of a file or folder, a whole number, a fraction, or
/// words, one each time that it is given.
enum class Takes { kNothing, kText, kFile, kNumber, kFraction, kTexts };

/// An option: a row of its command's table.
struct Option {
  const char* name;
  char letter;  // of the short form; 0: none
  Takes takes;
  const char* argument;                  // what stands for it in --help; null: takes nothing
  const char* meaning;                   // null: the option is not listed
  const char* fallback = nullptr;        // its value where it is not given
  Span<const char* const> choices = {};  // values to choose from; not all that there may be
};

class Arguments;

/// A command of dvnet. Its run() returns the exit status: 0, 1 for an error that was printed, 2 for
/// wrong usage.
struct Command {
  const char* name;         // "convert", "bench network"
  const char* summary;      // in the list of commands
  const char* files;        // the arguments that are no options, as usage has them; may be empty
  const char* description;  // a sentence or two
  Span<const Option> options;
  int (*run)(const Arguments& arguments);
};

/// The option's meaning with its choices and its default: "Channels of the input: bgr (default),
/// rgb, gray".
std::string describe(const Option& option);

/// A command line, read by its command's table. Asking for an option that is not in the table, or
/// for a value of a kind that it does not take, is a mistake in the command, and throws
/// std::logic_error.
class Arguments {
 public:
  /// `argv` begins with the command's name. A --help among it prints the help and exits.
  static Result<Arguments> parse(const Command& command, int argc, char** argv);
  const Command& command() const { return *command_; }
  /// The arguments that are no options.
  const std::vector<std::string>& files() const { return files_; }
  /// Whether an option is on the command line; only of those that are no numbers.
  bool given(const char* name) const;
  /// The value of an option, or its fallback; empty where it has none.
  std::string text(const char* name) const;  // of kText and kFile
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
/// The option of commands that run a network.
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

/// "1,2.5,3" as floats: exactly one (repeated three times) or three values.
Result<std::vector<float>> parse_triple(const std::string& option, const std::string& text);

bool ends_with(const std::string& text, const std::string& end);

/// Writes a file: it appears complete or not at all.
Status write_text(const std::string& path, const std::string& bytes);

/// JSON from the file of that name, or the argument itself if it begins with '{'.
Result<std::string> json_argument(const std::string& argument);

}  // namespace dvnn::tools
