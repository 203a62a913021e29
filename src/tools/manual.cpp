// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <map>
#include <vector>

#include "base/format.h"

namespace dvnn::tools {
namespace {

// --- roff --------------------------------------------------------------------------------------

// Escapes text: hyphens remain those of options, and no line becomes a request.
std::string roff(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string item(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + roff(text) + "\n";
}

std::string option_tag(const Option& option) {
  std::string tag = "\\fB";
  if (option.letter) tag += std::string("\\-") + option.letter + "\\fR, \\fB";
  tag += roff(std::string("--") + option.name) + "\\fR";
  if (option.argument) tag += "=\\fI" + roff(option.argument) + "\\fR";
  return tag;
}

struct Variable {
  const char* name;
  const char* meaning;
};

constexpr Variable kEnvironment[] = {
    {"DVNN_DEVICE", "The device where --device is not given: auto, fpga, soft or a library."},
    {"DVNN_SOFT_DEVICE", "The library of the software device, instead of the installed one."},
    {"DVNN_SOFT_THREADS", "How many threads the software device has (default: one per processor)."},
    {"DVNN_SOFT_PACE", "1: the software device takes as long as a board would."},
    {"DVNN_MAX_...", "What one network may cost; docs/limits.md lists these."},
};

// --- bash --------------------------------------------------------------------------------------

std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> all = {std::string("--") + option.name};
  if (option.letter) all.push_back(std::string("-") + option.letter);
  return all;
}

// Returns the branch that completes a command: an option's value, else options, else files.
std::string branch(const Command& command) {
  std::vector<std::string> options = {"--help"};
  std::string values;
  for (const Option& option : command.options) {
    if (!option.meaning) continue;
    const std::vector<std::string> names = spellings(option);
    options.insert(options.end(), names.begin(), names.end());
    if (option.takes == Takes::kNothing) continue;
    values += "        " + joined(names, "|") + ") ";
    if (option.takes == Takes::kFile) {
      values += "_dvnet_files";
    } else if (option.choices.empty()) {
      values += "COMPREPLY=()";
    } else {
      values += "_dvnet_words \"" + joined(option.choices, " ") + "\"";
    }
    values += "; return ;;\n";
  }
  std::string text = std::string("    \"") + command.name + "\")\n";
  if (!values.empty()) text += "      case $before in\n" + values + "      esac\n";
  text +=
      "      [[ $current == -* ]] && { _dvnet_words \"" + joined(options, " ") + "\"; return; }\n";
  text += *command.files ? "      _dvnet_files\n" : "";
  return text + "      ;;\n";
}

}  // namespace

std::string manual_page(Span<const Command* const> commands, const std::string& version) {
  std::string page =
      ".TH DVNET 1 \"\" \"gst-dvnn " + version + "\" \"User Commands\"\n" + ".SH NAME\n" +
      "dvnet \\- convert, inspect, run and time networks for gst-dvnn\n" + ".SH SYNOPSIS\n" +
      ".B dvnet\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIFILE\\fR...]\n.br\n" +
      ".B dvnet \\-\\-version\n.br\n.B dvnet\n[\\fICOMMAND\\fR] \\fB\\-\\-help\\fR\n" +
      ".SH DESCRIPTION\n" +
      roff(
          "dvnet makes the network files that the GStreamer element dvinfer runs, and tells what "
          "is in them.\n") +
      ".SH COMMANDS\n";
  for (const Command* command : commands) {
    page += std::string(".SS \"dvnet ") + command->name + " " + roff(command->files) + "\"\n" +
            roff(command->description) + "\n";
    for (const Option& option : command->options) {
      if (option.meaning) page += item(option_tag(option), describe(option) + ".");
    }
  }
  page += ".SH ENVIRONMENT\n";
  for (const Variable& variable : kEnvironment) {
    page += item(std::string("\\fB") + variable.name + "\\fR", variable.meaning);
  }
  page += ".SH EXIT STATUS\n" + item("0", "It is done.") +
          item("1", "There was an error, which was printed.") +
          item("2", "The command line is wrong.");
  return page + ".SH SEE ALSO\n.BR gst\\-launch\\-1.0 (1),\n.BR gst\\-inspect\\-1.0 (1)\n";
}

std::string bash_completion(Span<const Command* const> commands) {
  // Second words of commands by their first word; none for commands of one word.
  std::map<std::string, std::vector<std::string>> seconds;
  std::vector<std::string> firsts = {"--help", "--version"};
  for (const Command* command : commands) {
    const std::string name = command->name;
    const size_t space = name.find(' ');
    const std::string first = name.substr(0, space);
    if (seconds.emplace(first, std::vector<std::string>()).second) firsts.push_back(first);
    if (space != std::string::npos) seconds[first].push_back(name.substr(space + 1));
  }
  std::string text =
      "# bash completion of dvnet(1), made of its options.\n\n"
      "_dvnet_words() {\n  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n}\n\n"
      "_dvnet_files() {\n  compopt -o filenames 2>/dev/null\n"
      "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n}\n\n"
      "_dvnet() {\n  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local command=${COMP_WORDS[1]}\n  COMPREPLY=()\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || { _dvnet_words \"" +
      joined(firsts, " ") + "\"; return; }\n  case $command in\n";
  for (const auto& [first, words] : seconds) {
    if (words.empty()) continue;
    text += "    " + first + ")\n      [ \"$COMP_CWORD\" -gt 2 ] || { _dvnet_words \"" +
            joined(words, " ") + "\"; return; }\n      command+=\" ${COMP_WORDS[2]}\"\n      ;;\n";
  }
  // bash splits "--option=value" into three words.
  text +=
      "  esac\n  [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  [ \"$current\" != = ] || current=\"\"\n  case $command in\n";
  for (const Command* command : commands) text += branch(*command);
  return text + "  esac\n}\n\ncomplete -F _dvnet dvnet\n";
}

}  // namespace dvnn::tools
