// SPDX-License-Identifier: Apache-2.0
// dvdecode's settings.
#pragma once

#include <string>

#include "elements/exports.h"
#include "elements/objectfilter.h"
#include "properties.h"

namespace dvnn::gst {

struct DecodeSettings : FilterSettings {
  gfloat nms_threshold = -1;
  guint max_detections = 200;
  gdouble merge_threshold = 0.5;
  bool refine = false;
  bool post_messages = false;
  bool post_empty = false;
  guint exports = kDefaultExports;
  std::string decoder_library;
#ifdef DVNN_HAVE_TENSORS
  std::string tensor_network;
#endif
};

/// Returns the rows of all properties.
Properties<DecodeSettings> decode_properties();

}  // namespace dvnn::gst
