// SPDX-License-Identifier: Apache-2.0
// dvnet's manual page and bash completion, made of the tables of options when dvnet is built.
#pragma once

#include <string>

#include "tools/options.h"

namespace dvnn::tools {

/// A page for man(1), in roff.
std::string manual_page(Span<const Command* const> commands, const std::string& version);
/// A file for bash-completion.
std::string bash_completion(Span<const Command* const> commands);

}  // namespace dvnn::tools
