// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace dvnn::tools {
namespace {

// --- roff --------------------------------------------------------------------------------------

// Escapes text: hyphens stay those of options, and no line becomes a request.
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
  tag += roff("--" + option.name) + "\\fR";
  if (!option.argument.empty()) tag += "=\\fI" + roff(option.argument) + "\\fR";
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

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '-';
  });
}

// The values that a meaning lists: "Channels of the input: bgr (default), rgb or gray". Empty if
// the text after the colon is no such list.
std::vector<std::string> choices_of(std::string meaning) {
  const size_t colon = meaning.find(": ");
  if (colon == std::string::npos) return {};
  meaning = meaning.substr(colon + 2);
  for (size_t open; (open = meaning.find(" (")) != std::string::npos;) {
    const size_t close = meaning.find(')', open);
    if (close == std::string::npos) return {};
    meaning.erase(open, close + 1 - open);
  }
  for (size_t at; (at = meaning.find(" or ")) != std::string::npos;) meaning.replace(at, 4, ", ");
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= meaning.size();) {
    const size_t end = std::min(meaning.find(", ", begin), meaning.size());
    words.push_back(meaning.substr(begin, end - begin));
    if (!is_word(words.back())) return {};
    begin = end + 2;
  }
  return words.size() > 1 ? words : std::vector<std::string>();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> all = {"--" + option.name};
  if (option.letter) all.push_back(std::string("-") + option.letter);
  return all;
}

// The branch that completes one command: what follows an option, then options, then files.
std::string branch(const CommandManual& command) {
  std::vector<std::string> options = {"--help"};
  std::string values;
  for (const Option& option : command.help.options) {
    const std::vector<std::string> names = spellings(option);
    options.insert(options.end(), names.begin(), names.end());
    if (option.argument.empty()) continue;
    std::string label;
    for (const std::string& name : names) label += (label.empty() ? "" : "|") + name;
    const std::vector<std::string> choices = choices_of(option.meaning);
    values += "        " + label + ") ";
    if (option.takes_file) {
      values += "_dvnet_files";
    } else if (choices.empty()) {
      values += "COMPREPLY=()";
    } else {
      values += "_dvnet_words \"" + joined(choices) + "\"";
    }
    values += "; return ;;\n";
  }
  std::string text = "    \"" + command.name + "\")\n";
  if (!values.empty()) text += "      case $before in\n" + values + "      esac\n";
  text += "      [[ $current == -* ]] && { _dvnet_words \"" + joined(options) + "\"; return; }\n";
  text += command.help.usage.empty() ? "" : "      _dvnet_files\n";
  return text + "      ;;\n";
}

}  // namespace

std::string manual_page(const std::vector<CommandManual>& commands, const std::string& version) {
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
  for (const CommandManual& command : commands) {
    page += ".SS \"dvnet " + command.name + " " + roff(command.help.usage) + "\"\n" +
            roff(command.help.summary) + "\n";
    for (const Option& option : command.help.options) {
      page += item(option_tag(option), option.meaning + ".");
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

std::string bash_completion(const std::vector<CommandManual>& commands) {
  // Words that may follow each first word; no word for commands of one.
  std::map<std::string, std::vector<std::string>> seconds;
  std::vector<std::string> firsts = {"--help", "--version"};
  for (const CommandManual& command : commands) {
    const size_t space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    if (seconds.emplace(first, std::vector<std::string>()).second) firsts.push_back(first);
    if (space != std::string::npos) seconds[first].push_back(command.name.substr(space + 1));
  }
  std::string text =
      "# bash completion of dvnet(1), made of its options.\n\n"
      "_dvnet_words() {\n  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n}\n\n"
      "_dvnet_files() {\n  compopt -o filenames 2>/dev/null\n"
      "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n}\n\n"
      "_dvnet() {\n  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local command=${COMP_WORDS[1]}\n  COMPREPLY=()\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || { _dvnet_words \"" +
      joined(firsts) + "\"; return; }\n  case $command in\n";
  for (const auto& [first, words] : seconds) {
    if (words.empty()) continue;
    text += "    " + first + ")\n      [ \"$COMP_CWORD\" -gt 2 ] || { _dvnet_words \"" +
            joined(words) + "\"; return; }\n      command+=\" ${COMP_WORDS[2]}\"\n      ;;\n";
  }
  // "--option=value" is three words for bash.
  text +=
      "  esac\n  [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  [ \"$current\" != = ] || current=\"\"\n  case $command in\n";
  for (const CommandManual& command : commands) text += branch(command);
  return text + "  esac\n}\n\ncomplete -F _dvnet dvnet\n";
}

}  // namespace dvnn::tools
