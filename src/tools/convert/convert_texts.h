// SPDX-License-Identifier: Apache-2.0
// The options of `dvnet convert`, and what they say.
#pragma once

#include "convert/convert.h"
#include "tools/options.h"

namespace dvnn::tools {

/// The options as they were written on the command line.
struct ConvertTexts {
  OptionText from, output, name, mean, scale, order, resize, pad, labels, preset, decoder, params,
      decoder_library, layout, size, outputs, check, emit_cpp, layer_types, custom_layers, dot, svg,
      json, report;
  TextList set;
};

/// Takes what the texts say; a preset first, so that other options stand above it. Errors name the
/// option.
Status fill_options(const ConvertTexts& texts, convert::ConvertOptions* options);

}  // namespace dvnn::tools
