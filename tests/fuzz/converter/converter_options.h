// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "convert/convert.h"

namespace dvnn::fuzz {

/// Returns options that apply to every kind of model, from the lowest six bits.
inline convert::ConvertOptions converter_options(uint64_t bits) {
  convert::ConvertOptions options;
  options.rescale = options.measure_bits = false;  // these compute the whole network
  options.quantise = bits & 1;
  options.hwc = bits & 2;
  if (bits & 4) options.import.width = 12, options.import.height = 8;
  if (bits & 8) options.picture.order = ChannelOrder::kGray;
  if (bits & 16) options.import.outputs = {"y"};
  if (bits & 32) options.import.inputs = {{"x", {}, {1}}};
  return options;
}

}  // namespace dvnn::fuzz
