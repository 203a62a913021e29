// SPDX-License-Identifier: Apache-2.0
#include "tools/options.h"

#include <glib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "base/format.h"
#include "tools/progress.h"

namespace dvnn::tools {
std::string describe(const Option& option) {
  std::string text = option.meaning;
  const std::string fallback = option.fallback ? option.fallback : "";
  for (const char* choice : option.choices) {
    text += (choice == option.choices[0] ? ": " : ", ") + std::string(choice);
    if (choice == fallback) text += " (default)";
  }
  if (option.choices.empty() && option.fallback) text += " (default " + fallback + ")";
  return text;
}

// GLib does not tell whether a number was given, so this one stands for none.
constexpr double kNotGiven = std::numeric_limits<double>::lowest();

// An option's value, in the form of GLib's parser.
struct Arguments::Value {
  explicit Value(const Option& of) : option(of), help(of.meaning ? describe(of) : "") {
    if (!option.fallback) return;
    number = std::atoi(option.fallback);
    fraction = g_ascii_strtod(option.fallback, nullptr);
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    g_free(text);
    g_strfreev(texts);
  }

  GOptionEntry entry() {
    const std::map<Takes, std::pair<GOptionArg, void*>> kinds = {
        {Takes::kNothing, {G_OPTION_ARG_NONE, &flag}},
        {Takes::kText, {G_OPTION_ARG_STRING, &text}},
        {Takes::kFile, {G_OPTION_ARG_FILENAME, &text}},
        {Takes::kNumber, {G_OPTION_ARG_INT, &number}},
        {Takes::kFraction, {G_OPTION_ARG_DOUBLE, &fraction}},
        {Takes::kTexts, {G_OPTION_ARG_STRING_ARRAY, &texts}}};
    const auto& [type, place] = kinds.at(option.takes);
    const int flags = option.meaning ? 0 : G_OPTION_FLAG_HIDDEN;
    return {option.name, option.letter, flags, type, place, help.c_str(), option.argument};
  }

  const Option& option;
  const std::string help;
  gboolean flag = FALSE;
  int number = 0;
  double fraction = kNotGiven;
  char* text = nullptr;
  char** texts = nullptr;
};

Result<Arguments> Arguments::parse(const Command& command, int argc, char** argv) {
  Arguments arguments;
  arguments.command_ = &command;
  std::vector<GOptionEntry> entries;
  for (const Option& option : command.options) {
    auto& value = arguments.values_[option.name] = std::make_shared<Value>(option);
    entries.push_back(value->entry());
  }
  entries.push_back({});
  GOptionContext* context = g_option_context_new(command.files);
  g_option_context_set_summary(context, command.description);
  g_option_context_add_main_entries(context, entries.data(), nullptr);
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
  arguments.files_.assign(list + 1, list + argc);
  return arguments;
}

const Arguments::Value& Arguments::value(const char* name,
                                         std::initializer_list<Takes> kinds) const {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    for (const Takes kind : kinds) {
      if (found->second->option.takes == kind) return *found->second;
    }
  }
  throw std::logic_error(std::string("the command has no option --") + name + " of this kind");
}

bool Arguments::given(const char* name) const {
  const Value& found =
      value(name, {Takes::kNothing, Takes::kText, Takes::kFile, Takes::kTexts, Takes::kFraction});
  const bool number = found.option.takes == Takes::kFraction && !found.option.fallback &&
                      found.fraction != kNotGiven;
  return found.flag || found.text || found.texts || number;
}

std::string Arguments::text(const char* name) const {
  const Value& found = value(name, {Takes::kText, Takes::kFile});
  return found.text ? found.text : found.option.fallback ? found.option.fallback : "";
}

int Arguments::number(const char* name) const {
  return value(name, {Takes::kNumber}).number;
}

double Arguments::fraction(const char* name) const {
  return value(name, {Takes::kFraction}).fraction;
}

std::vector<std::string> Arguments::texts(const char* name) const {
  std::vector<std::string> list;
  for (char** text = value(name, {Takes::kTexts}).texts; text && *text; ++text) {
    list.emplace_back(*text);
  }
  return list;
}

int fail(const Error& error) {
  // Messages quote files, which may contain control sequences of terminals.
  constexpr size_t kMaxMessage = 4000;
  Progress::clear();
  std::fprintf(stderr, "dvnet: %s\n", short_text(error.message, kMaxMessage).c_str());
  return 1;
}

int wrong_usage(const Command& command, const std::string& message) {
  std::fprintf(stderr, "dvnet %s: %s; see dvnet %s --help\n", command.name,
               printable(message).c_str(), command.name);
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
      return invalid_argument(option + " '" + text +
                              "' is not one number or three, like 104,117,123");
    }
    values.push_back(static_cast<float>(value));
    if (*end == '\0') break;
    at = end + 1;
  }
  if (values.size() == 1) values.resize(3, values[0]);
  if (values.size() != 3) {
    return invalid_argument(
        format("%s has %zu numbers, needs one or three", option.c_str(), values.size()));
  }
  return values;
}

Result<std::string> json_argument(const std::string& argument) {
  constexpr size_t kMaxJsonArgument = 1 << 20;
  if (!argument.empty() && argument[0] == '{') return argument;
  return read_file(argument, kMaxJsonArgument);
}

}  // namespace dvnn::tools
