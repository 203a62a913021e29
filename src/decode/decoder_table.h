// SPDX-License-Identifier: Apache-2.0
// The decoders, listed once: a row is a decoder's name in network files and the function that makes
// it, which stands in the decoder's own file. docs/decoders.md has their parameters.
#pragma once

#include "decode/decoder.h"

#define DVNN_DECODERS(ROW)                                 \
  ROW("detection-output", create_detection_output_decoder) \
  ROW("ssd", create_ssd_decoder)                           \
  ROW("grid", create_grid_decoder)                         \
  ROW("anchors", create_anchors_decoder)                   \
  ROW("boxes", create_boxes_decoder)                       \
  ROW("heatmap-centres", create_centres_decoder)           \
  ROW("classification", create_classification_decoder)     \
  ROW("segmentation", create_segmentation_decoder)         \
  ROW("keypoints", create_keypoints_decoder)               \
  ROW("db", create_db_decoder)                             \
  ROW("ctc", create_ctc_decoder)                           \
  ROW("embedding", create_embedding_decoder)               \
  ROW("number", create_number_decoder)                     \
  ROW("none", create_no_decoder)

namespace dvnn::decode {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

#define DVNN_DECLARE(name, create) \
  DecoderResult create(const Json& params, Span<const NamedOutput> outputs);
DVNN_DECODERS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::decode
