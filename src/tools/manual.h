// SPDX-License-Identifier: Apache-2.0
// dvnet's manual page and bash completion, made of the tables of options when dvnet is built.
#pragma once

#include <string>
#include <vector>

#include "tools/options.h"

namespace dvnn::tools {

struct CommandManual {
  std::string name;  // "convert", "bench network"
  CommandHelp help;
};

/// A page for man(1), in roff.
std::string manual_page(const std::vector<CommandManual>& commands, const std::string& version);
/// A file for bash-completion.
std::string bash_completion(const std::vector<CommandManual>& commands);

}  // namespace dvnn::tools
