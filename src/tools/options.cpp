// SPDX-License-Identifier: Apache-2.0
#include "tools/options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/format.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

// Set while help_of() calls the command. What help_of() wants to know is thrown, because the
// command must not go on, just as GLib's --help ends the process.
bool asked_for_help = false;

CommandHelp help_in(const char* usage, const char* summary, const GOptionEntry* entry) {
  CommandHelp help = {usage, summary, {}};
  for (; entry->long_name; ++entry) {
    if (entry->flags & G_OPTION_FLAG_HIDDEN) continue;
    help.options.push_back({entry->long_name, entry->short_name, entry->description,
                            entry->arg_description ? entry->arg_description : "",
                            entry->arg == G_OPTION_ARG_FILENAME});
  }
  return help;
}

}  // namespace

CommandHelp help_of(int (*command)(int argc, char** argv)) {
  char name[] = "dvnet";
  char* argv[] = {name, nullptr};
  asked_for_help = true;
  try {
    command(1, argv);
  } catch (CommandHelp& help) {
    asked_for_help = false;
    return std::move(help);
  }
  asked_for_help = false;
  return {};
}

Result<std::vector<std::string>> parse_options(const char* usage, const char* summary,
                                               const GOptionEntry* entries, int argc, char** argv) {
  if (asked_for_help) throw help_in(usage, summary, entries);
  GOptionContext* context = g_option_context_new(usage);
  g_option_context_set_summary(context, summary);
  g_option_context_add_main_entries(context, entries, nullptr);
  GError* error = nullptr;
  std::vector<char*> args(argv, argv + argc);
  args.push_back(nullptr);
  char** list = args.data();
  const bool parsed = g_option_context_parse(context, &argc, &list, &error);
  g_option_context_free(context);
  if (!parsed) {
    Error result{ErrorCode::kInvalidArgument, error->message};
    g_error_free(error);
    return result;
  }
  return std::vector<std::string>(list + 1, list + argc);
}

int fail(const Error& error) {
  // Messages quote files, and a file may want to talk to the terminal.
  constexpr size_t kMaxMessage = 4000;
  Progress::clear();
  std::fprintf(stderr, "dvnet: %s\n", short_text(error.message, kMaxMessage).c_str());
  return 1;
}

int wrong_usage(const char* command, const std::string& message) {
  std::fprintf(stderr, "dvnet %s: %s; see dvnet %s --help\n", command, printable(message).c_str(),
               command);
  return 2;
}

Result<std::vector<float>> parse_triple(const std::string& option, const std::string& text) {
  std::vector<float> values;
  const char* at = text.c_str();
  while (true) {
    char* end = nullptr;
    const double value = g_ascii_strtod(at, &end);
    const bool number = end != at && value > -1e30 && value < 1e30;
    if (!number || (*end != ',' && *end != '\0')) {
      return Error{ErrorCode::kInvalidArgument,
                   option + " '" + text + "' is not one number or three, like 104,117,123"};
    }
    values.push_back(static_cast<float>(value));
    if (*end == '\0') break;
    at = end + 1;
  }
  if (values.size() == 1) values.resize(3, values[0]);
  if (values.size() != 3) {
    return Error{ErrorCode::kInvalidArgument,
                 format("%s has %zu numbers, needs one or three", option.c_str(), values.size())};
  }
  return values;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Status write_text(const std::string& path, const std::string& bytes) {
  DVNN_TRY(check_regular(path));
  GError* error = nullptr;
  if (g_file_set_contents(path.c_str(), bytes.data(), static_cast<gssize>(bytes.size()), &error)) {
    return {};
  }
  const Error failure{ErrorCode::kIo, error->message};
  g_error_free(error);
  return failure;
}

Result<std::string> json_argument(const std::string& argument) {
  constexpr size_t kMaxJsonArgument = 1 << 20;
  if (!argument.empty() && argument[0] == '{') return argument;
  return read_file(argument, kMaxJsonArgument);
}

}  // namespace dvnn::tools
