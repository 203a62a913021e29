// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "convert/convert.h"
#include "target.h"

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

/// Converts a file of one part, whose bytes follow one that chooses options.
template <typename Convert>
void convert_file(const uint8_t* data, size_t size, Convert convert_model) {
  static auto* const file = new MemoryFile();
  if (size < 2) return;
  const std::string path =
      file->with(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  convert::Report report;
  const auto model = convert_model(path, converter_options(data[0]), &report);
  accepted += is_good(model);
}

}  // namespace dvnn::fuzz
