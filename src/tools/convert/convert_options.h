// SPDX-License-Identifier: Apache-2.0
// The options of `dvnet convert`, and what they say.
#pragma once

#include "convert/convert.h"
#include "tools/options.h"

namespace dvnn::tools {

/// The table of options.
Span<const Option> convert_option_table();

/// Reads the options; a preset first, so that other options stand above it. Errors name the
/// option.
Status fill_options(const Arguments& arguments, convert::ConvertOptions* options);

}  // namespace dvnn::tools
