// SPDX-License-Identifier: Apache-2.0
// dvdecode's settings.
#pragma once

#include <memory>
#include <string>

#include "agree/pattern.h"
#include "elements/exports.h"
#include "elements/objectfilter.h"
#include "properties.h"

namespace dvnn::gst {

struct DecodeSettings : FilterSettings {
  gfloat nms_threshold = -1;
  guint max_detections = 200;
  gdouble merge_threshold = 0.5;
  bool refine = false;
  guint agree = 0;  // looks; 0: they are not compared
  std::string pattern;
  std::shared_ptr<const agree::Patterns> patterns;  // read from `pattern`; null: none
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
