// SPDX-License-Identifier: Apache-2.0
// The options of `dvnet convert`.
#pragma once

#include "convert/convert.h"
#include "tools/options.h"

namespace dvnn::tools {

/// Returns the table of options.
Span<const Option> convert_option_table();

/// Fills in the options, a preset first, so that other options override it. Errors name the option.
Status fill_options(const Arguments& arguments, convert::ConvertOptions* options);

}  // namespace dvnn::tools
