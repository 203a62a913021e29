// SPDX-License-Identifier: Apache-2.0
// Generates dvnet's manual page and bash completion from the tables of options at build time.
#pragma once

#include <string>

#include "tools/options.h"

namespace dvnn::tools {

/// Returns a page for man(1), in roff.
std::string manual_page(Span<const Command* const> commands, const std::string& version);
/// Returns a file for bash-completion.
std::string bash_completion(Span<const Command* const> commands);

}  // namespace dvnn::tools
