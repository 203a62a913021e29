// SPDX-License-Identifier: Apache-2.0
// The decoders' factories, one per file; decoder.cpp holds the table of names.
#pragma once

#include "decode/decoder.h"

namespace dvnn::decode {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

/// Rows of a DetectionOutput layer: the output {1, 1, N, 7}, rows (image_id, label, confidence, x0,
/// y0, x1, y1); image_id -1 marks unused rows. No parameters.
DecoderResult create_detection_output_decoder(const nlohmann::json& params,
                                              Span<const NamedOutput> outputs);

/// Raw SSD heads. Parameters: those of parse_ssd_params, and "anchors" (see make_anchors), "loc"
/// and "conf" (names of the outputs; priors x 4 and priors x num_classes elements), "score"
/// ("none", "softmax" or "sigmoid": what turns conf into probabilities).
DecoderResult create_ssd_decoder(const nlohmann::json& params, Span<const NamedOutput> outputs);

/// One score per class in the only output. Parameters: "softmax" (default false: scores already are
/// probabilities), "top_k" (default 5).
DecoderResult create_classification_decoder(const nlohmann::json& params,
                                            Span<const NamedOutput> outputs);

}  // namespace dvnn::decode
