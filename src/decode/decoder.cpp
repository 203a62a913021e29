// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include "decode/decoder_table.h"

namespace dvnn::decode {
namespace {

struct Entry {
  const char* name;
  DecoderResult (*create)(const nlohmann::json&, Span<const NamedOutput>);
};

constexpr Entry kDecoders[] = {
    {"detection-output", create_detection_output_decoder},
    {"ssd", create_ssd_decoder},
    {"classification", create_classification_decoder},
};

}  // namespace

DecoderResult create_decoder(const std::string& name, const nlohmann::json& params,
                             Span<const NamedOutput> outputs) {
  std::string known;
  for (const Entry& entry : kDecoders) {
    if (name == entry.name) {
      auto decoder = entry.create(params, outputs);
      if (!decoder.ok()) return decoder.error().within("decoder '" + name + "'");
      return decoder;
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Error{ErrorCode::kUnsupported, "unknown decoder '" + name + "' (known: " + known + ")"};
}

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kDecoders) names.push_back(entry.name);
  return names;
}

}  // namespace dvnn::decode
