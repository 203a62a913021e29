// SPDX-License-Identifier: Apache-2.0
// The decoders, listed once: a row is a decoder's name in network files and the function that makes
// it, which stands in the decoder's own file. docs/decoders.md has their parameters.
#pragma once

#include "decode/decoder.h"

#define DVNN_DECODERS(ROW)                                 \
  ROW("detection-output", create_detection_output_decoder) \
  ROW("ssd", create_ssd_decoder)                           \
  ROW("classification", create_classification_decoder)

namespace dvnn::decode {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

#define DVNN_DECLARE(name, create) \
  DecoderResult create(const nlohmann::json& params, Span<const NamedOutput> outputs);
DVNN_DECODERS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::decode
