// SPDX-License-Identifier: Apache-2.0
// The table of decoders: each row has a name in network files, the function that creates the
// decoder (in its own file), and where its parameters have the size of the network's input.
// docs/decoders.md describes the parameters.
#pragma once

#include "decode/decoder.h"

#define DVNN_DECODERS(ROW)                                           \
  ROW("detection-output", create_detection_output_decoder, no_image) \
  ROW("ssd", create_ssd_decoder, image_of_rule)                      \
  ROW("grid", create_grid_decoder, own_image)                        \
  ROW("anchors", create_anchors_decoder, own_image)                  \
  ROW("boxes", create_boxes_decoder, image_of_pixels)                \
  ROW("heatmap-centres", create_centres_decoder, own_image)          \
  ROW("classification", create_classification_decoder, no_image)     \
  ROW("segmentation", create_segmentation_decoder, no_image)         \
  ROW("keypoints", create_keypoints_decoder, image_if_pixels)        \
  ROW("db", create_db_decoder, no_image)                             \
  ROW("ctc", create_ctc_decoder, no_image)                           \
  ROW("embedding", create_embedding_decoder, no_image)               \
  ROW("number", create_number_decoder, no_image)                     \
  ROW("none", create_no_decoder, no_image)

namespace dvnn::decode {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

/// Returns the object among a decoder's parameters that "image" belongs to, [width, height] of the
/// network's input in pixels, or null if the decoder needs none.
using ImageOwner = Json* (*)(Json* params);
Json* no_image(Json* params);
Json* own_image(Json* params);
/// For numbers whose unit is the parameter "unit": pixels by default, or fractions by default.
Json* image_of_pixels(Json* params);
Json* image_if_pixels(Json* params);
/// For anchors that a rule makes from the size.
Json* image_of_rule(Json* params);

#define DVNN_DECLARE(name, create, image) \
  DecoderResult create(const Json& params, Span<const NamedOutput> outputs);
DVNN_DECODERS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::decode
